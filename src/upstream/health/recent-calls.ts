import type { Clock } from "../../base/clock.ts";
import type { FailingCalls, SlowCalls } from "../upstream.ts";

const slots = 10;

/** Counts all events and marked events over a sliding window in ten steps. Uses constant memory. */
export class SlidingWindow {
  readonly #slotMs: number;
  readonly #all = new Float64Array(slots);
  readonly #marked = new Float64Array(slots);
  #current = 0;

  constructor(spanMs: number) {
    this.#slotMs = spanMs / slots;
  }

  add(nowMs: number, marked: boolean): void {
    this.#advance(nowMs);
    const slot = this.#current % slots;
    this.#all[slot] = (this.#all[slot] ?? 0) + 1;
    if (marked) this.mark(nowMs);
  }

  /** Marks an event that was added unmarked, such as a response that broke off later. */
  mark(nowMs: number): void {
    this.#advance(nowMs);
    const slot = this.#current % slots;
    this.#marked[slot] = (this.#marked[slot] ?? 0) + 1;
  }

  all(nowMs: number): number {
    this.#advance(nowMs);
    return sum(this.#all);
  }

  marked(nowMs: number): number {
    this.#advance(nowMs);
    return sum(this.#marked);
  }

  clear(): void {
    this.#all.fill(0);
    this.#marked.fill(0);
  }

  #advance(nowMs: number): void {
    const now = Math.floor(nowMs / this.#slotMs);
    if (now - this.#current >= slots) this.clear();
    for (let slot = Math.max(this.#current + 1, now - slots + 1); slot <= now; slot += 1) {
      this.#all[slot % slots] = 0;
      this.#marked[slot % slots] = 0;
    }
    if (now > this.#current) this.#current = now;
  }
}

function sum(counts: Float64Array): number {
  let total = 0;
  for (const count of counts) total += count;
  return total;
}

const retryWindowMs = 10_000;
/** A deployment that fails more often than this is tried last (directory.ts), since retries cannot make up for it. */
export const retryShare = 0.2;
/**
 * Always allowed, since five a second do no harm. With little traffic a fifth is less than one retry, and if a
 * deployment breaks under many requests at once, they fail before the window has counted enough of them.
 */
const minRetries = 50;

/** Limits retries to a fifth of the requests of the last ten seconds, because they make an outage worse. */
export class RetryBudget {
  readonly #requests = new SlidingWindow(retryWindowMs);

  countRequest(nowMs: number): void {
    this.#requests.add(nowMs, false);
  }

  /** Takes one retry out of the budget; false if none is left. */
  tryRetry(nowMs: number): boolean {
    if (!this.hasRetry(nowMs)) return false;
    this.#requests.mark(nowMs);
    return true;
  }

  hasRetry(nowMs: number): boolean {
    const retries = this.#requests.marked(nowMs);
    return retries < minRetries || retries + 1 <= this.#requests.all(nowMs) * retryShare;
  }
}

const historyMs = 300_000;
/**
 * A client that gives up sooner is not evidence about the provider: completions at each keystroke are cancelled all the
 * time.
 */
const minWaitMs = 5_000;
const minCalls = 5;
/** Some models think for a minute before the first byte. */
const silenceMs = 120_000;

/** The recent history of a deployment, for the operator. It survives a reload that leaves the provider unchanged. */
export class CallHistory {
  /** The last alarm. Cleared by the next response. */
  alarm: string | null = null;
  failing: FailingCalls | null = null;
  /** Wall clock: the first response, or the first after failed or cancelled calls. Null before. */
  answeredAtMs: number | null = null;
  /** Successful calls, and those that clients cancelled before the first byte. */
  readonly #calls = new SlidingWindow(historyMs);
  /** Calls since the last response that wait for their first byte, or were cancelled after a long wait for it. */
  #unanswered = 0;
  #unansweredSinceMs = 0;
  #cancelled = 0;

  began(nowMs: number): void {
    if (this.#unanswered === 0) this.#unansweredSinceMs = nowMs;
    this.#unanswered += 1;
  }

  answered(nowMs: number, clock: Clock): void {
    const isChange = this.answeredAtMs === null || this.failing !== null || this.#cancelled > 0;
    if (isChange || this.alarm !== null) this.answeredAtMs = clock.wallMs();
    this.alarm = null;
    this.failing = null;
    this.#unanswered = 0;
    this.#cancelled = 0;
    this.#calls.add(nowMs, false);
  }

  failed(): void {
    this.#unanswered = Math.max(0, this.#unanswered - 1);
  }

  /** The client cancelled before the first byte. */
  cancelled(nowMs: number, waitedMs: number): void {
    if (waitedMs < minWaitMs) {
      this.failed();
      return;
    }
    this.#cancelled += 1;
    this.#calls.add(nowMs, true);
  }

  /** Null unless most of the last calls were cancelled before the first byte, or none gets one. */
  slow(nowMs: number): SlowCalls | null {
    const [calls, cancelled] = [this.#calls.all(nowMs), this.#calls.marked(nowMs)];
    if (cancelled >= minCalls && cancelled * 2 > calls) return { calls, cancelled };
    const waitedMs = nowMs - this.#unansweredSinceMs;
    const isSilent = this.#unanswered >= minCalls && waitedMs >= silenceMs;
    return isSilent ? { calls: this.#unanswered, cancelled: this.#cancelled } : null;
  }
}
