import { SlidingWindow } from "./sliding-window.ts";

const windowMs = 10_000;
/** A deployment that fails more often than this is tried last (directory.ts), since retries cannot make up for it. */
export const retryShare = 0.2;
/**
 * Always allowed, since five a second do no harm. With little traffic a fifth is less than one retry, and if a
 * deployment breaks under many requests at once, they fail before the window has counted enough of them.
 */
const minRetries = 50;

/** Limits retries to a fifth of the requests of the last ten seconds, because they make an outage worse. */
export class RetryBudget {
  readonly #requests = new SlidingWindow(windowMs);

  countRequest(nowMs: number): void {
    this.#requests.add(nowMs, false);
  }

  /** Takes one retry out of the budget; false if none is left. */
  tryRetry(nowMs: number): boolean {
    const retries = this.#requests.marked(nowMs);
    if (retries >= minRetries && retries + 1 > this.#requests.all(nowMs) * retryShare) return false;
    this.#requests.mark(nowMs);
    return true;
  }
}
