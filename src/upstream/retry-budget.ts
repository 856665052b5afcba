import { SlidingWindow } from "./window.ts";

const windowMs = 10_000;
/** A deployment that fails more often than this is asked last (directory.ts), since no budget can mend it. */
export const retryShare = 0.2;
/**
 * Five a second harm nobody. With little traffic a fifth is less than one, and when a deployment breaks under
 * many requests at once, their failures come before there is a record to learn from.
 */
const always = 50;

/**
 * Retries help against a fault here and there and make an outage worse, so they may be at most a fifth of
 * the requests of the last ten seconds.
 */
export class RetryBudget {
  readonly #requests = new SlidingWindow(windowMs);

  request(nowMs: number): void {
    this.#requests.add(nowMs, false);
  }

  /** Takes one retry out of the budget, if there is one. */
  tryRetry(nowMs: number): boolean {
    const retries = this.#requests.marked(nowMs);
    if (retries >= always && retries + 1 > this.#requests.all(nowMs) * retryShare) return false;
    this.#requests.mark(nowMs);
    return true;
  }
}
