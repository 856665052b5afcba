import { retryShare } from "./retry-budget.ts";
import { SlidingWindow } from "./window.ts";

export type BreakerState = "closed" | "open" | "half_open" | "cooling";

const windowMs = 30_000;
const consecutiveLimit = 5;
const rateLimit = 0.5;
const rateMinimum = 10;
const firstPauseMs = 5_000;
const longestPauseMs = 60_000;
/** A provider that asks for hours of patience is asked again after ten minutes all the same. */
const longestCoolDownMs = 600_000;

/**
 * Keeps calls away from a deployment that fails: after five failures in a row, or when half of at least ten
 * calls within 30 s failed. After a pause a single call may try; if it is answered well, all is forgotten,
 * otherwise the pause doubles. A provider that says when it wants to be asked again (Retry-After) is left
 * alone until then without being counted as broken. A client that leaves says nothing about the provider.
 */
export class Breaker {
  readonly #calls = new SlidingWindow(windowMs);
  #consecutive = 0;
  #openUntilMs = 0;
  #coolUntilMs = 0;
  #pauseMs = firstPauseMs;
  #open = false;
  #probing = false;
  #lastWasBusy = false;

  state(nowMs: number): BreakerState {
    if (this.#open) return nowMs < this.#openUntilMs ? "open" : "half_open";
    return nowMs < this.#coolUntilMs ? "cooling" : "closed";
  }

  /** Whether a call may be made now. Half-open, the one who gets `true` is the probe and must report. */
  tryPass(nowMs: number): boolean {
    if (nowMs < this.#coolUntilMs) return false;
    if (!this.#open) return true;
    if (this.#probing || nowMs < this.#openUntilMs) return false;
    this.#probing = true;
    return true;
  }

  /** The provider has begun to answer well. */
  answered(nowMs: number): void {
    this.#consecutive = 0;
    if (this.#open) this.#close();
    this.#calls.add(nowMs, false);
  }

  /** `busy`: the provider said that it has too much to do, without saying for how long. */
  failed(nowMs: number, busy: boolean): void {
    this.#lastWasBusy = busy;
    this.#calls.add(nowMs, true);
    this.#count(nowMs);
  }

  /** It had begun well and then broke off; the call itself is counted already. */
  brokeOff(nowMs: number): void {
    this.#calls.mark(nowMs);
    this.#count(nowMs);
  }

  /** The call ended without saying anything about the provider. */
  abandoned(): void {
    this.#probing = false;
  }

  coolDown(nowMs: number, durationMs: number): void {
    this.#probing = false;
    this.#coolUntilMs = Math.max(this.#coolUntilMs, nowMs + Math.min(durationMs, longestCoolDownMs));
  }

  /** How long until a call may be made, 0 when now. */
  waitMs(nowMs: number): number {
    return Math.max(0, this.#coolUntilMs - nowMs, this.#open ? this.#openUntilMs - nowMs : 0);
  }

  /** Whether it is left alone because it has too much to do, rather than because it is broken. */
  isBusy(nowMs: number): boolean {
    return nowMs < this.#coolUntilMs || (this.#open && this.#lastWasBusy);
  }

  /**
   * Fails too often to be asked first, and not often enough to be left alone. It is well again by being asked
   * less: what is older than 30 s is forgotten.
   */
  isAiling(nowMs: number): boolean {
    if (this.#calls.marked(nowMs) === 0) return false;
    const calls = this.#calls.all(nowMs);
    return calls >= rateMinimum && this.#calls.marked(nowMs) > calls * retryShare;
  }

  get consecutiveFailures(): number {
    return this.#consecutive;
  }

  recent(nowMs: number): { calls: number; failures: number } {
    return { calls: this.#calls.all(nowMs), failures: this.#calls.marked(nowMs) };
  }

  #count(nowMs: number): void {
    this.#consecutive += 1;
    const calls = this.#calls.all(nowMs);
    const tooMany = calls >= rateMinimum && this.#calls.marked(nowMs) >= calls * rateLimit;
    if (this.#open || this.#consecutive >= consecutiveLimit || tooMany) this.#trip(nowMs);
  }

  #trip(nowMs: number): void {
    // Calls that were under way when it opened fail later; only a failed probe makes the pause longer.
    if (this.#open && !this.#probing) return;
    this.#pauseMs = this.#open ? Math.min(this.#pauseMs * 2, longestPauseMs) : firstPauseMs;
    this.#open = true;
    this.#probing = false;
    this.#openUntilMs = nowMs + this.#pauseMs;
  }

  #close(): void {
    this.#open = false;
    this.#probing = false;
    this.#pauseMs = firstPauseMs;
    this.#calls.clear();
  }
}
