import { assert } from "../../base/assert.ts";
import { nextLoopIteration } from "../../base/loop/pacer.ts";

/**
 * Collects items of one iteration of the event loop, or those that arrive during a write, into the next write, so
 * that many callers share a round trip.
 */
export class WriteQueue<Item, Answer> {
  readonly #write: (items: readonly Item[]) => Promise<readonly Answer[]>;
  #waiting: Item[] = [];
  #next: Promise<readonly Answer[]> | null = null;
  #last: Promise<unknown> = Promise.resolve();

  /** `write` resolves with an answer for each item. */
  constructor(write: (items: readonly Item[]) => Promise<readonly Answer[]>) {
    this.#write = write;
  }

  /** Resolves once the item is written. */
  async add(item: Item): Promise<Answer> {
    const place = this.#waiting.push(item) - 1;
    this.#next ??= this.#last.then(nextLoopIteration).then(() => {
      const items = this.#waiting;
      this.#waiting = [];
      this.#next = null;
      const written = this.#write(items);
      this.#last = written.catch(() => {});
      return written;
    });
    const answers = await this.#next;
    assert(place < answers.length, "every item that was written has an answer");
    return answers[place] as Answer;
  }
}
