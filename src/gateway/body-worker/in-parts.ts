/** Copies pieces into parts of one size. Returns the rest after the last full one. */
export function* inParts(pieces: Iterable<Uint8Array>, partBytes: number): Generator<Uint8Array, Uint8Array> {
  let rest: Uint8Array[] = [];
  let bytes = 0;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const isWhole = at === 0 && bytes + piece.length < partBytes;
      const taken = isWhole ? piece : piece.subarray(at, at + partBytes - bytes);
      rest.push(taken);
      bytes += taken.length;
      at += taken.length;
      if (bytes < partBytes) continue;
      yield Buffer.concat(rest);
      rest = [];
      bytes = 0;
    }
  }
  return Buffer.concat(rest);
}
