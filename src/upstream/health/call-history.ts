import type { Clock } from "../../base/clock.ts";
import type { FailingCalls, SlowCalls } from "../upstream.ts";
import { SlidingWindow } from "./sliding-window.ts";

const windowMs = 300_000;
/** A client that gives up sooner says nothing about the provider: completions at each keystroke are cancelled all the time. */
const minWaitMs = 5_000;
const minCalls = 5;
/** Some models think for a minute before the first byte. */
const silenceMs = 120_000;

/** What calls to a deployment came to, for the operator. It outlives a reload that leaves the provider as it was. */
export class CallHistory {
  /** The last alarm. Cleared by the next answer. */
  alarm: string | null = null;
  failing: FailingCalls | null = null;
  /** Wall clock: the first answer, or the first after failed or cancelled calls. Null before. */
  answeredAtMs: number | null = null;
  /** Answered calls, and those that clients cancelled before the first byte. */
  readonly #calls = new SlidingWindow(windowMs);
  /** Calls since the last answer that wait for their first byte, or were cancelled after a long wait for it. */
  #unanswered = 0;
  #unansweredSinceMs = 0;
  #cancelled = 0;

  began(nowMs: number): void {
    if (this.#unanswered === 0) this.#unansweredSinceMs = nowMs;
    this.#unanswered += 1;
  }

  answered(nowMs: number, clock: Clock): void {
    const isNews = this.answeredAtMs === null || this.failing !== null || this.#cancelled > 0;
    if (isNews || this.alarm !== null) this.answeredAtMs = clock.wallMs();
    this.alarm = null;
    this.failing = null;
    this.#unanswered = 0;
    this.#cancelled = 0;
    this.#calls.add(nowMs, false);
  }

  failed(): void {
    this.#unanswered = Math.max(0, this.#unanswered - 1);
  }

  /** By its client, before the first byte. */
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
