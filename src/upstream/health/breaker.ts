import { CoolDowns, FailingKeys } from "./key-health.ts";
import { retryShare, SlidingWindow } from "./recent-calls.ts";

export type BreakerState = "closed" | "open" | "half_open" | "cooling";

/** `probe`: the caller makes the single call that may test a failed deployment, and must report its outcome. */
export type Pass = "closed" | "probe" | "open" | "cooling";

/**
 * The meaning of a failed call. `connection`: no connection, or no response in time. `provider`: it responded with a
 * failure. `unclear`: it rejected the call, because of the request or of the deployment.
 */
export type FailureEvidence = "connection" | "provider" | "unclear";

export interface FailedCall {
  /** The client's key. */
  readonly keyId: string;
  readonly evidence: FailureEvidence;
  readonly isProbe: boolean;
}

const windowMs = 30_000;
const streakLimit = 5;
const maxFailureShare = 0.5;
/** With fewer calls a failure rate means nothing. */
const minCalls = 10;
const firstPauseMs = 5_000;
const maxPauseMs = 60_000;

/**
 * The circuit breaker of a deployment. It opens after five failures in a row, or if half of at least ten calls within
 * 30 s failed. Failures of a single client key do not count, except failed connections and timeouts. After a cooldown
 * one call can probe the deployment: if it succeeds, the breaker closes and forgets everything, otherwise the cooldown
 * doubles. A Retry-After starts a cooldown without opening the breaker: for the client key that received it, and for
 * all keys while two or more have one (see key-health.ts).
 */
export class Breaker {
  readonly #calls = new SlidingWindow(windowMs);
  /** Failed calls that the request itself may have caused. */
  readonly #unclear = new SlidingWindow(windowMs);
  readonly #failingKeys = new FailingKeys(windowMs);
  /** Failures in a row. */
  #streak = 0;
  #streakKey: string | null = null;
  /** The streak has failures of two keys or more, or a failed connection. */
  #isStreakShared = false;
  #openUntilMs = 0;
  readonly coolDowns = new CoolDowns();
  #pauseMs = firstPauseMs;
  #open = false;
  #isProbing = false;
  /** The key of the last failed probe, if that key alone may be the cause. Other keys may probe at once. */
  #suspectKey: string | null = null;

  /** For operators: `cooling` as long as any key has to wait. Other keys may pass; see `tryPass`. */
  state(nowMs: number): BreakerState {
    if (this.#open) return nowMs < this.#openUntilMs ? "open" : "half_open";
    return this.coolDowns.maxMs(nowMs) > 0 ? "cooling" : "closed";
  }

  /** Whether this key may call without a probe. */
  isClosedFor(nowMs: number, keyId: string): boolean {
    return !this.#open && this.coolDowns.leftMs(nowMs, keyId) === 0;
  }

  /** `closed` and `probe` mean that a call may be made now. */
  tryPass(nowMs: number, keyId: string): Pass {
    if (this.coolDowns.leftMs(nowMs, keyId) > 0) return "cooling";
    if (!this.#open) return "closed";
    const mustWait = nowMs < this.#openUntilMs && (this.#suspectKey === null || this.#suspectKey === keyId);
    if (this.#isProbing || mustWait) return "open";
    this.#isProbing = true;
    return "probe";
  }

  /** A response has started without an error. */
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

  /** A response ended early. The call has been counted by `answered`. */
  brokeOff(nowMs: number, keyId: string): void {
    this.#calls.mark(nowMs);
    this.#failingKeys.brokeOff(keyId, nowMs);
    this.#judge(nowMs, { keyId, evidence: "provider", isProbe: false });
  }

  /** The probe ended without evidence about the provider; the next call can probe. */
  abandonProbe(): void {
    this.#isProbing = false;
  }

  /** For operators: time until every key can call; 0 if now. */
  waitMs(nowMs: number): number {
    return Math.max(this.coolDowns.maxMs(nowMs), this.#open ? this.#openUntilMs - nowMs : 0);
  }

  /**
   * Whether it fails too often to be tried first for this key, but not often enough to open. It recovers by being tried
   * less, since failures older than 30 s are forgotten.
   */
  failsOften(nowMs: number, keyId: string): boolean {
    const failures = this.#calls.marked(nowMs);
    if (failures === 0) return false;
    const calls = this.#calls.all(nowMs);
    if (calls < minCalls || failures <= calls * retryShare) return false;
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
    // Calls that were in flight when it opened may fail later; only a failed probe makes the pause longer.
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
    if (calls < minCalls || failures < calls * maxFailureShare) return false;
    // Leave out the key that has failed most: does the deployment still look broken?
    const worst = this.#failingKeys.worst(nowMs);
    const othersFailures = failures - worst.failures;
    return othersFailures > 0 && othersFailures >= (calls - worst.calls) * maxFailureShare;
  }

  /** The pause doubles only if the probes of two keys fail, or one cannot connect. Until then other keys may probe. */
  #probeFailed(nowMs: number, { keyId, evidence }: FailedCall): void {
    const isShared = this.#suspectKey !== null && this.#suspectKey !== keyId;
    if (evidence === "connection" || isShared) {
      this.#trip(nowMs, Math.min(this.#pauseMs * 2, maxPauseMs));
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
