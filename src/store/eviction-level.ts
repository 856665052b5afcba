/**
 * How many bytes each key can keep at most, so that all keys together keep no more than `maxBytes`: the keys that hold most lose
 * theirs first, and a key that holds little loses nothing. Infinity if everything fits.
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
