import { FailingKeys } from "./failing-keys.ts";
import { retryShare } from "./retry-budget.ts";
import { SlidingWindow } from "./window.ts";

export type BreakerState = "closed" | "open" | "half_open" | "cooling";

/** `probe`: the caller is the one that may try a deployment that has failed, and must report how it went. */
export type Pass = "closed" | "probe" | "open" | "cooling";

/**
 * What a failed call is evidence of. `connection`: nobody is there, or nobody answers in time. `provider`: it
 * answers, but not well. `unclear`: a refusal that may be about the request as well as about the deployment.
 */
export type Evidence = "connection" | "provider" | "unclear";

/** A call that failed. */
export interface FailedCall {
  /** The client's key. */
  readonly keyId: string;
  readonly evidence: Evidence;
  readonly isProbe: boolean;
}

const windowMs = 30_000;
const streakLimit = 5;
const rateLimit = 0.5;
const rateMinimum = 10;
const firstPauseMs = 5_000;
const longestPauseMs = 60_000;
/** A provider that asks for hours of patience is asked again after ten minutes all the same. */
const longestCoolDownMs = 600_000;

/**
 * Tells a deployment that fails: after five failures in a row, or when half of at least ten calls within 30 s
 * failed. Failures of one client's key alone are no evidence, unless nobody could be reached or answered in
 * time. After a pause a single call may try; if it is answered well, all is forgotten, otherwise the pause
 * doubles. A provider that says when it wants to be asked again (Retry-After) is left alone until then without
 * being counted as broken. A client that leaves says nothing about the provider.
 */
export class Breaker {
  readonly #calls = new SlidingWindow(windowMs);
  /** Those of the failed calls that may have been the request's own fault. */
  readonly #unclear = new SlidingWindow(windowMs);
  readonly #failingKeys = new FailingKeys(windowMs);
  /** Failures in a row. */
  #streak = 0;
  #streakKey: string | null = null;
  /** The streak is of two keys or more, or a connection failed in it. */
  #isStreakShared = false;
  #openUntilMs = 0;
  #coolUntilMs = 0;
  /** The end of the pause that the provider asked for, however long. */
  #askedUntilMs = 0;
  #pauseMs = firstPauseMs;
  #open = false;
  #isProbing = false;
  /** The last probe failed, and its key may be the only one to blame: another key need not wait. */
  #suspectKey: string | null = null;

  state(nowMs: number): BreakerState {
    if (this.#open) return nowMs < this.#openUntilMs ? "open" : "half_open";
    return nowMs < this.#coolUntilMs ? "cooling" : "closed";
  }

  /** Whether a call may be made now: `closed` and `probe` say yes. */
  tryPass(nowMs: number, keyId: string): Pass {
    if (nowMs < this.#coolUntilMs) return "cooling";
    if (!this.#open) return "closed";
    const mustWait = nowMs < this.#openUntilMs && (this.#suspectKey === null || this.#suspectKey === keyId);
    if (this.#isProbing || mustWait) return "open";
    this.#isProbing = true;
    return "probe";
  }

  /** The provider has begun to answer well. */
  answered(nowMs: number, keyId: string): void {
    this.#endStreak();
    if (this.#open) this.#close();
    this.#calls.add(nowMs, false);
    this.#failingKeys.answered(keyId, nowMs);
  }

  failed(nowMs: number, call: FailedCall): void {
    this.#calls.add(nowMs, true);
    if (call.evidence === "unclear") this.#unclear.add(nowMs, false);
    if (call.evidence !== "connection") this.#failingKeys.failed(call.keyId, nowMs);
    this.#judge(nowMs, call);
  }

  /** It had begun well and then broke off; the call itself is counted already. */
  brokeOff(nowMs: number, keyId: string): void {
    this.#calls.mark(nowMs);
    this.#failingKeys.brokeOff(keyId, nowMs);
    this.#judge(nowMs, { keyId, evidence: "provider", isProbe: false });
  }

  /** The probe ended without saying anything about the provider; the next call may try. */
  abandonProbe(): void {
    this.#isProbing = false;
  }

  coolDown(nowMs: number, durationMs: number): void {
    this.#askedUntilMs = Math.max(this.#askedUntilMs, nowMs + durationMs);
    this.#coolUntilMs = Math.max(this.#coolUntilMs, nowMs + Math.min(durationMs, longestCoolDownMs));
  }

  /** How long until a call may be made, 0 when now. */
  waitMs(nowMs: number): number {
    return Math.max(this.coolingMs(nowMs), this.#open ? this.#openUntilMs - nowMs : 0);
  }

  /** How long until the provider wants to be asked again, ten minutes at most; 0 when now. */
  coolingMs(nowMs: number): number {
    return Math.max(0, this.#coolUntilMs - nowMs);
  }

  /** The same, however long the provider wants it to be. */
  askedPauseMs(nowMs: number): number {
    return Math.max(0, this.#askedUntilMs - nowMs);
  }

  /**
   * Fails too often to be asked first by this key, and not often enough to be left alone. It is well again by
   * being asked less: what is older than 30 s is forgotten.
   */
  isAiling(nowMs: number, keyId: string): boolean {
    const failures = this.#calls.marked(nowMs);
    if (failures === 0) return false;
    const calls = this.#calls.all(nowMs);
    if (calls < rateMinimum || failures <= calls * retryShare) return false;
    const worst = this.#failingKeys.worst(nowMs);
    return worst.keyId === keyId || failures - worst.failures > (calls - worst.calls) * retryShare;
  }

  get consecutiveFailures(): number {
    return this.#streak;
  }

  recent(nowMs: number): { calls: number; failures: number } {
    return { calls: this.#calls.all(nowMs), failures: this.#calls.marked(nowMs) };
  }

  #judge(nowMs: number, call: FailedCall): void {
    if (call.evidence !== "unclear") this.#lengthenStreak(call);
    if (call.isProbe) this.#probeFailed(nowMs, call);
    // Calls that were under way when it opened fail later; only a failed probe makes the pause longer.
    else if (!this.#open && call.evidence !== "unclear" && this.#isBroken(nowMs))
      this.#trip(nowMs, firstPauseMs);
  }

  #lengthenStreak({ keyId, evidence }: FailedCall): void {
    const isOther = this.#streakKey !== null && this.#streakKey !== keyId;
    this.#streak += 1;
    this.#streakKey ??= keyId;
    this.#isStreakShared ||= isOther || evidence === "connection";
  }

  #endStreak(): void {
    this.#streak = 0;
    this.#streakKey = null;
    this.#isStreakShared = false;
  }

  #isBroken(nowMs: number): boolean {
    if (this.#streak >= streakLimit && this.#isStreakShared) return true;
    const calls = this.#calls.all(nowMs);
    const failures = this.#calls.marked(nowMs) - this.#unclear.all(nowMs);
    if (calls < rateMinimum || failures < calls * rateLimit) return false;
    // Would it look broken without the key that has failed most?
    const worst = this.#failingKeys.worst(nowMs);
    const othersFailures = failures - worst.failures;
    return othersFailures > 0 && othersFailures >= (calls - worst.calls) * rateLimit;
  }

  /** The provider itself has to fail the probes of two keys; until then the other keys may try at once. */
  #probeFailed(nowMs: number, { keyId, evidence }: FailedCall): void {
    const isShared = this.#suspectKey !== null && this.#suspectKey !== keyId;
    if (evidence === "connection" || isShared) {
      this.#trip(nowMs, Math.min(this.#pauseMs * 2, longestPauseMs));
      return;
    }
    this.#trip(nowMs, this.#pauseMs);
    this.#suspectKey = keyId;
  }

  #trip(nowMs: number, pauseMs: number): void {
    this.#open = true;
    this.#isProbing = false;
    this.#suspectKey = null;
    this.#pauseMs = pauseMs;
    this.#openUntilMs = nowMs + pauseMs;
  }

  #close(): void {
    this.#open = false;
    this.#isProbing = false;
    this.#suspectKey = null;
    this.#pauseMs = firstPauseMs;
    this.#calls.clear();
    this.#unclear.clear();
    this.#failingKeys.clear();
  }
}
