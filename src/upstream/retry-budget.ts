import { SlidingWindow } from "./window.ts";

const windowMs = 10_000;
const share = 0.2;
/** With little traffic a fifth is less than one; a few retries must be possible all the same. */
const always = 10;

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
    if (retries >= always && retries + 1 > this.#requests.all(nowMs) * share) return false;
    this.#requests.mark(nowMs);
    return true;
  }
}
