import { setTimeout } from "node:timers/promises";
import type { Clock } from "../../base/clock.ts";
import { cancelled } from "../failure.ts";
import type { Candidate } from "../health/deployment-state.ts";
import { RetryBudget } from "../health/recent-calls.ts";
import type { Plan } from "../upstream.ts";
import type { AttemptState } from "./attempt-state.ts";
import { queueLimit, queueWaitMs, releaseSlot, takeSlot, tryTakeSlot } from "./directory.ts";

/** Per exchange; enough for every sane configuration, and a bound for the others. */
const maxAttempts = 5;
const minRetryDelayMs = 50;
const maxRetryDelayMs = 250;

/**
 * Selects the deployment to try next, and takes a slot there. Breakers only choose among deployments: if there is no
 * alternative, or all breakers are open, they are ignored. A cooldown that a provider requested is respected even then,
 * and waited for if it is short. The wait is limited, and a short one that begins meanwhile is ignored beyond it.
 */
export class CandidateSelector {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #retryBudget = new RetryBudget();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Counts a new exchange, since the retry budget is a share of them. */
  countExchange(nowMs: number): void {
    this.#retryBudget.countRequest(nowMs);
  }

  /** The next deployment to try, with a slot taken there; null if there is none left. */
  async next(plan: Plan, state: AttemptState, nowMs: number): Promise<Candidate | null> {
    return takeNextCandidate(state) ?? this.#firstReady(plan, state, nowMs) ?? this.#lastResort(plan, state);
  }

  /** Makes the next attempt go to the same deployment with another key, if it has a slot and the budget allows. */
  tryOtherKey(candidate: Candidate, state: AttemptState): boolean {
    if (!tryTakeSlot(candidate)) return false;
    if (!this.#mayAttempt(state)) {
      releaseSlot(candidate);
      return false;
    }
    state.nextCandidate = candidate;
    state.isOtherKey = true;
    return true;
  }

  /**
   * Takes the attempt that is about to begin from the retry budget. Not before: what the gateway itself denies, such as
   * a fallback by a cap, costs no retry. If none is left, returns false and ends the order.
   */
  beginAttempt(candidate: Candidate, state: AttemptState): boolean {
    if (!state.usesRetryBudget || this.#retryBudget.tryRetry(this.#nowMs())) return true;
    endOrder(candidate, state);
    return false;
  }

  /** Makes the next attempt go to the same deployment, if it has a slot. It has cost the provider nothing. */
  tryAgain(candidate: Candidate, state: AttemptState): boolean {
    if (!tryTakeSlot(candidate)) return false;
    state.nextCandidate = candidate;
    state.usesRetryBudget = false;
    return true;
  }

  #firstReady(plan: Plan, state: AttemptState, nowMs: number): Candidate | null {
    while (state.finalFailure === null) {
      const candidate = state.candidates[state.nextIndex];
      if (candidate !== undefined) {
        state.nextIndex += 1;
        if (this.#tryEnter(candidate, plan, state, nowMs)) return this.#withinBudget(candidate, state);
        continue;
      }
      if (state.attempts > 0 || state.ignoresBreakers || state.busyCandidate !== null) return null;
      // Every breaker is open.
      state.ignoresBreakers = true;
      state.nextIndex = 0;
    }
    return null;
  }

  /** Takes a slot unless the deployment cools down, its breaker is open, or it has no slot. */
  #tryEnter(candidate: Candidate, plan: Plan, state: AttemptState, nowMs: number): boolean {
    const { breaker } = candidate.state;
    const pass = breaker.tryPass(nowMs, plan.keyId);
    if (pass === "cooling") state.skippedCooling(candidate, nowMs, plan.keyId);
    if (pass === "cooling" || (pass === "open" && !state.ignoresBreakers)) return false;
    state.isProbe = pass === "probe";
    if (tryTakeSlot(candidate)) return true;
    if (state.isProbe) breaker.abandonProbe();
    state.busyCandidate ??= candidate;
    return false;
  }

  /** Skips the candidate and the rest of the order if there have been enough attempts. */
  #withinBudget(candidate: Candidate, state: AttemptState): Candidate | null {
    if (this.#mayAttempt(state)) return candidate;
    endOrder(candidate, state);
    return null;
  }

  /** The first attempt is free, the others use the retry budget once they begin. */
  #mayAttempt(state: AttemptState): boolean {
    state.usesRetryBudget = state.attempts > 0;
    if (!state.usesRetryBudget) return true;
    return state.attempts < maxAttempts && this.#retryBudget.hasRetry(this.#nowMs());
  }

  /** At most once each: waiting for a deployment if none could be tried, and a retry after a delay. */
  async #lastResort(plan: Plan, state: AttemptState): Promise<Candidate | null> {
    if (!state.hasWaited) {
      state.hasWaited = true;
      const candidate = await this.#waitForOne(plan, state);
      if (candidate !== null) return candidate;
    }
    if (state.hasRetried) return null;
    state.hasRetried = true;
    return this.#retryOne(plan, state);
  }

  /** No attempt was made, because all candidates are full or cooling down: waits for one of them. */
  async #waitForOne(plan: Plan, state: AttemptState): Promise<Candidate | null> {
    const candidate = state.busyCandidate ?? state.coolingCandidate;
    if (candidate === null || state.attempts > 0 || state.finalFailure !== null) return null;
    const isReady =
      (await this.#waitForCoolDown(candidate, plan)) && (await takeSlot(candidate, plan.signal));
    if (plan.isOver) state.finalFailure = cancelled(plan.signal);
    if (!isReady) return null;
    // A short cool-down that has begun in the meantime is ignored: this request has waited once.
    const { breaker } = candidate.state;
    const nowMs = this.#nowMs();
    const isCooling = breaker.coolDowns.leftMs(nowMs, plan.keyId) > queueWaitMs;
    state.isProbe = breaker.tryPass(nowMs, plan.keyId) === "probe";
    if (state.finalFailure === null && !isCooling) return candidate;
    state.skippedCooling(candidate, nowMs, plan.keyId);
    giveUpCandidate(candidate, state);
    return null;
  }

  /** False if the cool-down is too long to wait for. Jitter keeps those who wait from coming back all at once. */
  async #waitForCoolDown({ state }: Candidate, plan: Plan): Promise<boolean> {
    for (let leftMs = queueWaitMs; ; ) {
      const waitMs = state.breaker.coolDowns.leftMs(this.#nowMs(), plan.keyId);
      if (waitMs === 0) return true;
      if (waitMs > queueWaitMs || state.waitingForCoolDown >= queueLimit) return false;
      if (waitMs > leftMs) return true;
      leftMs -= waitMs;
      state.waitingForCoolDown += 1;
      const hasWaited = await abortableDelay(waitMs + this.#random() * maxRetryDelayMs, plan.signal);
      state.waitingForCoolDown -= 1;
      if (!hasWaited) return false;
    }
  }

  /** All candidates have been tried; one may succeed after a random delay. */
  async #retryOne(plan: Plan, state: AttemptState): Promise<Candidate | null> {
    const candidate = state.retryCandidate;
    if (candidate === null || state.finalFailure !== null || state.attempts >= maxAttempts) return null;
    const delayMs = minRetryDelayMs + this.#random() * (maxRetryDelayMs - minRetryDelayMs);
    if (!(await abortableDelay(delayMs, plan.signal))) {
      state.finalFailure = cancelled(plan.signal);
      return null;
    }
    if (!this.#tryEnter(candidate, plan, state, this.#nowMs())) return null;
    return this.#withinBudget(candidate, state);
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}

function takeNextCandidate(state: AttemptState): Candidate | null {
  const candidate = state.nextCandidate;
  state.nextCandidate = null;
  state.isOtherKey = false;
  return candidate;
}

function endOrder(candidate: Candidate, state: AttemptState): void {
  state.nextIndex = state.candidates.length;
  giveUpCandidate(candidate, state);
}

/** Releases slot and probe of a candidate that no call was made to. Once made, a call releases its slot by itself. */
export function giveUpCandidate(candidate: Candidate, state: AttemptState): void {
  if (state.isProbe) candidate.state.breaker.abandonProbe();
  releaseSlot(candidate);
}

/** Resolves to true after the delay, or to false as soon as the signal fires. */
function abortableDelay(durationMs: number, signal: AbortSignal): Promise<boolean> {
  return setTimeout(durationMs, true, { signal }).catch(() => false);
}
