import { nextLoopIteration } from "./pacer.ts";

/** What work may take of one iteration of the event loop. Time, because code takes many times longer when it first runs. */
const turnMs = 3;
const itemsPerRun = 100;

/** Work that lets others have their turn. */
class Turn {
  #startedAtMs = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#startedAtMs > turnMs;
  }

  async next(): Promise<void> {
    await nextLoopIteration();
    this.#startedAtMs = performance.now();
  }
}

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

/** Maps a list, some milliseconds in a turn of the event loop. */
export async function mapInTurns<Item, Mapped>(
  items: Iterable<Item>,
  map: (item: Item) => Mapped | Promise<Mapped>,
): Promise<Mapped[]> {
  const turn = new Turn();
  const mapped: Mapped[] = [];
  for (const item of items) {
    if (turn.isOver) await turn.next();
    mapped.push(await map(item));
  }
  return mapped;
}

/** Filters a list, some milliseconds in a turn of the event loop. */
export async function filterInTurns<Item>(
  items: Iterable<Item>,
  matches: (item: Item) => boolean,
): Promise<Item[]> {
  const turn = new Turn();
  const found: Item[] = [];
  for (const item of items) {
    if (turn.isOver) await turn.next();
    if (matches(item)) found.push(item);
  }
  return found;
}

/** Like `toSorted`, and as stable, but some milliseconds in a turn of the event loop. */
export async function sortInTurns<Item extends object>(
  items: readonly Item[],
  compare: (one: Item, other: Item) => number,
): Promise<readonly Item[]> {
  const turn = new Turn();
  let runs: (readonly Item[])[] = [];
  for (let first = 0; first < items.length; first += itemsPerRun) {
    if (turn.isOver) await turn.next();
    runs.push(items.slice(first, first + itemsPerRun).toSorted(compare));
  }
  while (runs.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let place = 0; place < runs.length; place += 2) {
      const [ones = [], others = []] = runs.slice(place, place + 2);
      const merging = new MergedRuns(ones, others, compare);
      while (merging.step()) if (turn.isOver) await turn.next();
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
