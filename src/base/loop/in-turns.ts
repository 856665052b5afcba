import { nextLoopIteration } from "./pacer.ts";

/** About 5 ms of views, or of comparisons. */
export const itemsPerTurn = 500;
const comparisonsPerTurn = 4_000;

/** Work of several steps, each of some milliseconds. Others may have their turn wherever it yields. */
export type Stepwise<Result> = Generator<void, Result>;

export function atOnce<Result>(work: Stepwise<Result>): Result {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

export async function inTurns<Result>(work: Stepwise<Result>): Promise<Result> {
  let step = work.next();
  for (; step.done !== true; step = work.next()) await nextLoopIteration();
  return step.value;
}

/** Maps a list in chunks, yielding to the event loop between them. */
export async function mapInTurns<Item, Mapped>(
  items: Iterable<Item>,
  map: (item: Item) => Mapped,
  perTurn = itemsPerTurn,
): Promise<Mapped[]> {
  const mapped: Mapped[] = [];
  for (const item of items) {
    if (mapped.length % perTurn === perTurn - 1) await nextLoopIteration();
    mapped.push(map(item));
  }
  return mapped;
}

/** Filters a list in chunks, and yields to the event loop between them. A chunk is a number of tested items, not of matches. */
export async function filterInTurns<Item>(
  items: Iterable<Item>,
  matches: (item: Item) => boolean,
  perTurn = 10 * itemsPerTurn,
): Promise<Item[]> {
  const found: Item[] = [];
  let tested = 0;
  for (const item of items) {
    tested += 1;
    if (tested % perTurn === 0) await nextLoopIteration();
    if (matches(item)) found.push(item);
  }
  return found;
}

/** Like `toSorted`, and as stable, but with at most a few thousand comparisons per event-loop iteration. */
export async function sortInTurns<Item extends object>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Promise<readonly Item[]> {
  let runs: (readonly Item[])[] = [];
  for (let first = 0; first < items.length; first += itemsPerTurn) {
    runs.push(items.slice(first, first + itemsPerTurn).toSorted(compare));
    await nextLoopIteration();
  }
  let compared = 0;
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let place = 0; place < runs.length; place += 2) {
      const [ones = [], others = []] = runs.slice(place, place + 2);
      const merging = new MergedRuns(ones, others, compare);
      while (merging.step()) {
        compared += 1;
        if (compared % comparisonsPerTurn === 0) await nextLoopIteration();
      }
      merged.push(merging.rest());
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

/** Two sorted lists that become one, an item at a time. */
class MergedRuns<Item extends object> {
  readonly #ones: readonly Item[];
  readonly #others: readonly Item[];
  readonly #compare: (one: Item, other: Item) => number;
  readonly #merged: Item[] = [];
  #one = 0;
  #other = 0;

  constructor(ones: readonly Item[], others: readonly Item[], compare: (one: Item, other: Item) => number) {
    this.#ones = ones;
    this.#others = others;
    this.#compare = compare;
  }

  /** Compares once. False if one of the lists is empty, so that the rest needs no comparison. */
  step(): boolean {
    const [one, other] = [this.#ones[this.#one], this.#others[this.#other]];
    if (one === undefined || other === undefined) return false;
    const isOther = this.#compare(other, one) < 0;
    this.#merged.push(isOther ? other : one);
    if (isOther) this.#other += 1;
    else this.#one += 1;
    return true;
  }

  rest(): readonly Item[] {
    if (this.#merged.length === 0) return this.#ones.length === 0 ? this.#others : this.#ones;
    return this.#merged.concat(this.#ones.slice(this.#one), this.#others.slice(this.#other));
  }
}
