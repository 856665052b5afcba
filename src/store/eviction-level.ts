/**
 * The number of bytes that each key can keep, so that all keys together keep at most `maxBytes`: the keys with the most
 * lose their oldest first, and keys below this level lose nothing. Infinity if everything fits.
 */
export function evictionLevel(heldBytes: readonly number[], maxBytes: number): number {
  const ascending = heldBytes.toSorted((one, other) => one - other);
  let rest = maxBytes;
  for (const [place, bytes] of ascending.entries()) {
    const keys = ascending.length - place;
    if (bytes * keys > rest) return Math.max(0, rest / keys);
    rest -= bytes;
  }
  return Number.POSITIVE_INFINITY;
}
