import { type DeclaredSound, soundInVideo } from "./declared-sound.ts";
import { clusterMark, ids } from "./webm-elements.ts";
import { packetsIn, tracksIn } from "./webm-packets.ts";

const [duration, scale] = ["4489", "2ad7b1"].map((id) => Buffer.from(id, "hex"));

/**
 * A file that was recorded as it came has no length, but its clusters say when they begin. The last one is assumed to be as long as the others. The
 * sender writes both, so the audio packets near the end are counted too: a length below half of what they play is ignored.
 */
export function webmSound(start: Buffer, end: Buffer, bytes: number): DeclaredSound {
  const ticks = numberOf(start, start.indexOf(duration ?? ""), 2);
  const nanoseconds = numberOf(start, start.indexOf(scale ?? ""), 3) || 1_000_000;
  const last = end.lastIndexOf(clusterMark);
  const begun = last === -1 ? 0 : numberOf(end, end.indexOf(ids.timestamp, last + 4), 1);
  const declared = ((ticks || (begun * bytes) / (bytes - end.length + last)) * nanoseconds) / 1e9;
  return declared === 0 ? { seconds: 0, bytes } : checked(declared, start, end, bytes);
}

function checked(declared: number, start: Buffer, end: Buffer, bytes: number): DeclaredSound {
  const { sound, hasVideo } = tracksIn(start);
  // The last cluster of a video may begin before what is looked at.
  const packets = packetsIn(end.includes(clusterMark) ? end : start, sound);
  // So that it is charged by its bytes.
  if (packets === null) return { seconds: 0, bytes };
  const { soundBytes, soundSeconds, allBytes, spanBytes } = packets;
  const played = end.length >= bytes ? soundSeconds : (soundSeconds * bytes) / spanBytes / 2;
  const share = hasVideo && allBytes > 0 ? Math.max(soundInVideo, soundBytes / allBytes) : 1;
  return { seconds: Math.max(declared, played), bytes: bytes * share };
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
