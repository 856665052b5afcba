/**
 * Weighted rendezvous hashing: every gateway puts the same choices into the same order for the same seed, without
 * remembering anything. The lowest rank is first.
 *
 * A rank is a point in time at which a choice is drawn, exponentially distributed with its weight as the rate. So each
 * is first in proportion to its weight, and the ranks of the others do not change when one is added or removed.
 */
export function rankOf(identity: string, weight: number, seed: number): number {
  const uniform = (Bun.hash.xxHash32(identity, seed) + 0.5) / 2 ** 32;
  return -Math.log(uniform) / weight;
}
