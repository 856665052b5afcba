const [duration, scale, cluster] = ["4489", "2ad7b1", "1f43b675"].map((id) => Buffer.from(id, "hex"));
const timestamp = 0xe7;

/** A file that was recorded as it came has no length, but its clusters say when they begin. The last one goes on like those before it. */
export function webmSeconds(start: Buffer, end: Buffer, bytes: number): number {
  const ticks = numberOf(start, start.indexOf(duration ?? ""), 2);
  const nanoseconds = numberOf(start, start.indexOf(scale ?? ""), 3) || 1_000_000;
  const last = end.lastIndexOf(cluster ?? "");
  const begun = last === -1 ? 0 : numberOf(end, end.indexOf(timestamp, last + 4), 1);
  const played = (begun * bytes) / (bytes - end.length + last);
  return ((ticks || played) * nanoseconds) / 1e9;
}

/** The value of an element, behind its id and one byte with its length: a float of 4 or 8 bytes for a duration, else whole. */
function numberOf(bytes: Buffer, at: number, idBytes: number): number {
  const from = at + idBytes + 1;
  const length = (bytes[from - 1] ?? 0) & 0x7f;
  if (at === -1 || from + length > bytes.length) return 0;
  if (idBytes === 2)
    return length === 8 ? bytes.readDoubleBE(from) : length === 4 ? bytes.readFloatBE(from) : 0;
  return length >= 1 && length <= 6 ? bytes.readUIntBE(from, length) : 0;
}
