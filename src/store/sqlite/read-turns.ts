import { nextTurn } from "../../base/loop/next-iteration.ts";

/** A request that reads in many small statements, or many requests at once, must not hold up streams for longer than this. */
const readsMsPerTurn = 10;

/** Lets statements wait for the next turn of the event loop once those of this turn have taken long enough. */
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
    do await nextTurn();
    while (this.#spentMs >= readsMsPerTurn);
  }
}
