/** A small seeded generator (mulberry32), so that a random run that failed is run again by its number. */
export function seededRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    /** From 0 up to 1. */
    next,
    /** A whole number from 0 up to, and not including, `limit`. */
    below: (limit: number): number => Math.floor(next() * limit),
    chance: (probability: number): boolean => next() < probability,
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error("there is nothing to pick from");
      return item;
    },
  };
}

export type SeededRandom = ReturnType<typeof seededRandom>;
