const headerBytes = 26;
/** A frame's header up to its number. */
const fixedBytes = 4;

/**
 * Duration by STREAMINFO, which comes first: the largest block, 20 bits of samples per second, and 36 bits of total
 * samples. 0 if it is unknown. A later frame takes precedence.
 */
export function flacSeconds(start: Buffer, end: Buffer): number {
  if (start.length < headerBytes) return 0;
  const perSecond = start.readUIntBE(18, 3) >>> 4;
  const blockSize = start.readUInt16BE(10);
  const counted = start.readUIntBE(21, 5) % 2 ** 36;
  const last = lastSample(end, blockSize);
  // The last block may be a smaller one.
  const samples = counted > last - blockSize ? counted : last;
  return perSecond === 0 ? 0 : samples / perSecond;
}

const [byFrame, bySample] = [Buffer.of(0xff, 0xf8), Buffer.of(0xff, 0xf9)];
/** Audio data can look like the beginning of a frame. */
const maxTries = 100;

/** An encoder that writes to a pipe does not know the length at the start, but each frame has its own number or its first sample's. */
function lastSample(end: Buffer, blockSize: number): number {
  let at = end.length;
  for (let tries = 0; tries < maxTries && at > 0; tries += 1) {
    at = Math.max(end.lastIndexOf(byFrame, at - 1), end.lastIndexOf(bySample, at - 1));
    if (at === -1) return 0;
    if (!isHeader(end.subarray(at))) continue;
    const number = numberAt(end, at + fixedBytes).value;
    return end[at + 1] === bySample[1] ? number + blockSize : (number + 1) * blockSize;
  }
  return 0;
}

function isHeader(frame: Buffer): boolean {
  const [, , sizes = 0] = frame;
  const sized = [0, 0, 0, 0, 0, 0, 1, 2][sizes >>> 4] ?? 0;
  const rated = { 12: 1, 13: 2, 14: 2 }[sizes & 15] ?? 0;
  const length = fixedBytes + numberAt(frame, fixedBytes).bytes + sized + rated;
  return length < frame.length && checksum(frame.subarray(0, length)) === frame[length];
}

/** Encoded like UTF-8, but up to 36 bits. */
function numberAt(bytes: Buffer, at: number): { readonly value: number; readonly bytes: number } {
  const first = bytes[at] ?? 0;
  const ones = Math.clz32(~(first << 24));
  if (ones === 0) return { value: first, bytes: 1 };
  let value = first & (0x7f >>> ones);
  for (let next = 1; next < ones; next += 1) value = value * 64 + ((bytes[at + next] ?? 0) & 63);
  return { value, bytes: ones };
}

/** CRC-8. */
function checksum(bytes: Uint8Array): number {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 0x80 ? ((sum << 1) ^ 7) & 0xff : sum << 1;
  }
  return sum;
}
