import { nextLoopIteration } from "../../base/loop/next-iteration.ts";

/** The time per iteration of the event loop that reads may take, so that many small statements do not delay streams. */
const readsMsPerTurn = 10;

/** Makes statements wait for the next iteration of the event loop once this iteration's reads have taken their time. */
export class ReadTurns {
  #spentMs = 0;
  #isCounting = false;

  /** Null while there is time left. */
  wait(): Promise<void> | null {
    return this.#spentMs < readsMsPerTurn ? null : this.#awaitTime();
  }

  add(ms: number): void {
    this.#spentMs += ms;
    if (this.#isCounting) return;
    this.#isCounting = true;
    setImmediate(() => {
      this.#spentMs = 0;
      this.#isCounting = false;
    });
  }

  async #awaitTime(): Promise<void> {
    do await nextLoopIteration();
    while (this.#spentMs >= readsMsPerTurn);
  }
}
