import { nextLoopIteration } from "./next-iteration.ts";

export interface PacerLimits {
  /** Milliseconds of an iteration that waiting callers share. Without it, one caller resumes per iteration. */
  readonly budgetMs?: number;
  /**
   * Calls of `take` per iteration that pass without waiting, and the most waiting callers that resume in one: their later work is not
   * measured. After a long iteration, one resumes per millisecond of it.
   */
  readonly free?: number;
}

/**
 * Spreads work over iterations of the event loop, so that none takes long however many callers there are. Waiting
 * callers resume in FIFO order.
 */
export class LoopPacer {
  readonly #budgetMs: number;
  readonly #free: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;
  #isRunning = false;

  constructor({ budgetMs = 0, free = 0 }: PacerLimits = {}) {
    this.#budgetMs = budgetMs;
    this.#free = free;
  }

  /** Whether the caller may continue at once. Otherwise it has to `wait`. */
  take(): boolean {
    if (this.#taken === this.#free || this.#waiting.length > 0) return false;
    // A few are counted over several iterations: noticing the end of each would take longer than they do.
    if (this.#taken === this.#free >> 3) setImmediate(this.#renew);
    this.#taken += 1;
    return true;
  }

  /** Resolves in a later iteration. */
  wait(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  readonly #renew = () => {
    this.#taken = 0;
  };

  async #run(): Promise<void> {
    this.#isRunning = true;
    for (let startMs = performance.now(); this.#waiting.length > 0; ) {
      await nextLoopIteration();
      const nowMs = performance.now();
      const max = this.#maxAfter(nowMs - startMs);
      startMs = nowMs;
      let goneOn = 0;
      do {
        this.#waiting.shift()?.();
        goneOn += 1;
        // Let the caller that waits continue first.
        await null;
      } while (this.#waiting.length > 0 && goneOn < max && performance.now() < nowMs + this.#budgetMs);
    }
    this.#isRunning = false;
  }

  #maxAfter(iterationMs: number): number {
    return this.#free === 0 ? Number.POSITIVE_INFINITY : Math.max(this.#free, iterationMs);
  }
}
