/** Collects what comes while a write is under way into the next one, so that many callers share a round trip. */
export class WriteQueue<Item> {
  readonly #write: (items: readonly Item[]) => Promise<void>;
  #waiting: Item[] = [];
  #next: Promise<void> | null = null;
  #last: Promise<void> = Promise.resolve();

  constructor(write: (items: readonly Item[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves once the item is written. */
  add(item: Item): Promise<void> {
    this.#waiting.push(item);
    this.#next ??= this.#last.then(() => {
      const items = this.#waiting;
      this.#waiting = [];
      this.#next = null;
      const written = this.#write(items);
      this.#last = written.catch(() => {});
      return written;
    });
    return this.#next;
  }
}
