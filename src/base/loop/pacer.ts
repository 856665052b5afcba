import { nextTurn } from "./next-iteration.ts";

/**
 * Lets callers go on one after the other, in their order, and only one in each turn of the event loop. Steps of some
 * milliseconds each, such as copying megabytes, do not add up in one turn then, however many requests take them at once.
 * With a budget, callers share a turn as long as what they do at once has taken less than that.
 */
export class TurnPacer {
  readonly #budgetMs: number;
  readonly #waiting: (() => void)[] = [];
  #isRunning = false;

  constructor(budgetMs = 0) {
    this.#budgetMs = budgetMs;
  }

  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    if (!this.#isRunning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.length > 0) {
      await nextTurn();
      const endMs = performance.now() + this.#budgetMs;
      do {
        this.#waiting.shift()?.();
        // What awaits the turn goes on before this does.
        await null;
      } while (this.#waiting.length > 0 && performance.now() < endMs);
    }
    this.#isRunning = false;
  }
}
