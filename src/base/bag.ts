/** What a `Bag` can hold. It is in one bag at a time. */
export interface Bagged {
  /** Where it is in its bag, or `outside`. Only the bag sets it. */
  place: number;
}

export const outside = -1;

/**
 * An unordered set for what comes and goes with every request. In a `Set` or a `Map` each of them would stay in memory until
 * the next full garbage collection: an outgrown table refers to the one that has replaced it, so that once one table has
 * become old, every later one is kept, and what was in it. That took a sixth of a request's CPU time.
 */
export class Bag<Item extends Bagged> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  has(item: Item): boolean {
    return item.place !== outside && this.#items[item.place] === item;
  }

  /** False if it is not in this bag. */
  delete(item: Item): boolean {
    if (!this.has(item)) return false;
    const last = this.#items.pop();
    if (last !== undefined && last !== item) {
      this.#items[item.place] = last;
      last.place = item.place;
    }
    item.place = outside;
    return true;
  }

  /** Those that are in it now, whatever is added or deleted meanwhile. */
  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.slice().values();
  }
}
