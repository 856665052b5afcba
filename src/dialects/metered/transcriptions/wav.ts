/** Uncompressed samples. The duration of other formats cannot be computed from their size. */
const plainFormats = [1, 3];
/** This format states its real format at the end of a longer header. */
const extensible = 0xfffe;
const extensibleBytes = 40;

/**
 * The duration of a WAV file, by its header; null if unknown. `bytes` is the length of the whole file. The sender writes the
 * header, so only the fields that players use count: not the bytes per second, and the first of two formats.
 */
export function wavSeconds(start: Uint8Array, bytes: number): number | null {
  const header = Buffer.from(start);
  if (header.toString("latin1", 0, 4) !== "RIFF" || header.toString("latin1", 8, 12) !== "WAVE") return null;
  let bytesPerSecond: number | null = null;
  for (let at = 12; at + 8 <= header.length; ) {
    const name = header.toString("latin1", at, at + 4);
    const size = header.readUInt32LE(at + 4);
    if (name === "fmt " && at + 24 <= header.length) bytesPerSecond ??= rateIn(header.subarray(at + 8));
    if (name === "data")
      return bytesPerSecond ? played(size, bytes - at - 8, bytesPerSecond) / bytesPerSecond : null;
    at += 8 + size + (size % 2);
  }
  return null;
}

function rateIn(format: Buffer): number {
  const formatCode = format.readUInt16LE(0);
  const isLong = formatCode === extensible && format.length >= extensibleBytes;
  const isPlain = plainFormats.includes(isLong ? format.readUInt16LE(24) : formatCode);
  const [channels, samples, bits] = [format.readUInt16LE(2), format.readUInt32LE(4), format.readUInt16LE(14)];
  return isPlain ? channels * samples * Math.ceil(bits / 8) : 0;
}

/**
 * The bytes of audio to count. A header without a length (a live recording), or at least a second of data after the
 * first chunk, means that everything to the end of the file is audio. Less than a second is metadata.
 */
function played(size: number, rest: number, bytesPerSecond: number): number {
  return size === 0 || rest - size >= bytesPerSecond ? rest : Math.min(size, rest);
}
