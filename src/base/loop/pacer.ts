import { nextLoopIteration } from "./next-iteration.ts";

/** The part of a long iteration that callers get, so that a crowd does not wait for many of those. */
const shareOfLongIteration = 1 / 8;

export interface PacerLimits {
  /** Milliseconds of an iteration that waiting callers share. Without any, one goes on in each iteration. */
  readonly budgetMs?: number;
  /** This many calls of `take` in an iteration need not wait. */
  readonly free?: number;
}

/**
 * Spreads work over iterations of the event loop, so that none takes long however many callers come at once: those that have to
 * wait go on in the order in which they came, in as many iterations as it takes.
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

  /** Whether the caller may go on at once. Otherwise it has to wait for its turn. */
  take(): boolean {
    if (this.#taken === this.#free || this.#waiting.length > 0) return false;
    // A few are counted over several iterations: noticing the end of each would take longer than they do.
    if (this.#taken === this.#free >> 3) setImmediate(this.#renew);
    this.#taken += 1;
    return true;
  }

  /** Resolves in a later iteration. */
  turn(): Promise<void> {
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
      const endMs = nowMs + this.#budgetAfter(nowMs - startMs);
      startMs = nowMs;
      do {
        this.#waiting.shift()?.();
        // What awaits the turn goes on before this does.
        await null;
      } while (this.#waiting.length > 0 && performance.now() < endMs);
    }
    this.#isRunning = false;
  }

  #budgetAfter(iterationMs: number): number {
    return this.#free === 0 ? this.#budgetMs : Math.max(this.#budgetMs, iterationMs * shareOfLongIteration);
  }
}
