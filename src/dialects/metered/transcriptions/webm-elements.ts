/** https://www.matroska.org/technical/elements.html */
export const ids = {
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  track: 0xae,
  trackNumber: 0xd7,
  trackType: 0x83,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

export const clusterMark = Buffer.from("1f43b675", "hex");

export interface Element {
  readonly id: number;
  /** The range of its content, which may be cut off. */
  readonly from: number;
  readonly to: number;
}

/**
 * Yields the elements from `start` on, and descends into those listed in `descendInto`. Stops at the first malformed
 * element.
 */
export function* elementsIn(
  bytes: Buffer,
  start: number,
  descendInto: readonly number[],
): Generator<Element> {
  for (let at = start; at < bytes.length; ) {
    const idBytes = Math.clz32((bytes[at] ?? 0) << 24) + 1;
    const sizeAt = at + idBytes;
    const sizeBytes = Math.clz32((bytes[sizeAt] ?? 0) << 24) + 1;
    const from = sizeAt + sizeBytes;
    if (idBytes > 4 || sizeBytes > 8 || from > bytes.length) return;
    const id = bytes.readUIntBE(at, idBytes);
    const to = from + sizeIn(bytes, sizeAt, sizeBytes);
    yield { id, from, to };
    at = descendInto.includes(id) ? from : to;
  }
}

/** The size of an element. All bits set means unknown: it extends to the next element of its kind. */
function sizeIn(bytes: Buffer, at: number, length: number): number {
  let size = (bytes[at] ?? 0) & (0xff >> length);
  let isUnknown = size === 0xff >> length;
  for (let next = at + 1; next < at + length; next += 1) {
    const byte = bytes[next] ?? 0;
    size = size * 256 + byte;
    isUnknown &&= byte === 0xff;
  }
  return isUnknown ? Number.POSITIVE_INFINITY : size;
}

export function wholeNumberIn(bytes: Buffer, { from, to }: Element): number {
  const length = to - from;
  return length >= 1 && length <= 6 && to <= bytes.length ? bytes.readUIntBE(from, length) : 0;
}
