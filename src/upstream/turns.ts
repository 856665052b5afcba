import type { Clock } from "../base/clock.ts";
import { type Candidate, queueLimit, queueWaitMs } from "./directory.ts";
import { cancelled } from "./failure.ts";
import { pause } from "./pause.ts";
import { givePlaceBack, takePlace, tryTakePlace } from "./places.ts";
import { RetryBudget } from "./retry-budget.ts";
import type { Tally } from "./tally.ts";
import type { Plan } from "./upstream.ts";

/** All attempts of one exchange; enough for every sane configuration, and an end for the others. */
const mostAttempts = 5;
const shortestPauseMs = 50;
const longestPauseMs = 250;

/**
 * Decides whose turn it is to be asked, and takes a place there. Breakers choose among deployments: where there
 * is no other, or all others are shut as well, a request tries all the same. A pause that a provider has asked
 * for is kept, and waited out if it is short.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #budget = new RetryBudget();

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** A new exchange begins, which retries of the next ten seconds are measured against. */
  begin(nowMs: number): void {
    this.#budget.request(nowMs);
  }

  /** Whose turn it is, a place there taken; null when nobody is left to be asked. */
  next(plan: Plan, tally: Tally, nowMs: number): Candidate | null | Promise<Candidate | null> {
    const withOtherKey = tally.withOtherKey;
    tally.withOtherKey = null;
    return withOtherKey ?? this.#firstReady(plan, tally, nowMs) ?? this.#lastResort(plan, tally);
  }

  /** Takes a place for another attempt with another of the provider's keys, if the budget has one. */
  tryOtherKey(candidate: Candidate, tally: Tally): boolean {
    if (!tryTakePlace(candidate.standing)) return false;
    if (this.#mayTry(tally)) return true;
    givePlaceBack(candidate.standing);
    return false;
  }

  #firstReady(plan: Plan, tally: Tally, nowMs: number): Candidate | null {
    while (tally.final === null) {
      const candidate = tally.order[tally.passed];
      if (candidate !== undefined) {
        tally.passed += 1;
        if (!this.#enter(candidate, plan, tally, nowMs)) continue;
        return this.#unlessTooOften(candidate, tally);
      }
      if (tally.attempts > 0 || tally.insists || tally.busy !== null) return null;
      tally.insists = true;
      tally.passed = 0;
    }
    return null;
  }

  #unlessTooOften(candidate: Candidate, tally: Tally): Candidate | null {
    if (this.#mayTry(tally)) return candidate;
    tally.passed = tally.order.length;
    leave(candidate, tally);
    return null;
  }

  /** Each at most once: a wait where nobody could be asked yet, and a second try after a pause. */
  async #lastResort(plan: Plan, tally: Tally): Promise<Candidate | null> {
    if (!tally.hasWaited) {
      tally.hasWaited = true;
      const candidate = await this.#whenPossible(plan, tally);
      if (candidate !== null) return candidate;
    }
    if (tally.isRepeated) return null;
    tally.isRepeated = true;
    return this.#onceMore(plan, tally);
  }

  /** Nobody was asked, because all who could have been are full or want a pause: wait for a moment. */
  async #whenPossible(plan: Plan, tally: Tally): Promise<Candidate | null> {
    const candidate = tally.busy ?? tally.cooling;
    if (candidate === null || tally.attempts > 0 || tally.final !== null) return null;
    const { standing } = candidate;
    const isReady = (await this.#waitOutPause(candidate, plan)) && (await takePlace(standing, plan.signal));
    if (plan.isOver) tally.final = cancelled(plan.signal);
    if (!isReady) return null;
    // A short pause that has begun in the meantime is not waited for: this request has had its wait.
    const nowMs = this.#nowMs();
    const isLeftAlone = standing.breaker.coolingMs(nowMs) > queueWaitMs;
    tally.isProbe = standing.breaker.tryPass(nowMs, plan.keyId) === "probe";
    if (tally.final === null && !isLeftAlone) return candidate;
    tally.wantsPause(candidate, nowMs);
    leave(candidate, tally);
    return null;
  }

  /** True when the provider may be asked. Not all who waited come back at once. */
  async #waitOutPause({ standing }: Candidate, plan: Plan): Promise<boolean> {
    for (let leftMs = queueWaitMs; ; ) {
      const waitMs = standing.breaker.coolingMs(this.#nowMs());
      if (waitMs === 0) return true;
      if (waitMs > queueWaitMs || standing.pausing >= queueLimit) return false;
      if (waitMs > leftMs) return true;
      leftMs -= waitMs;
      standing.pausing += 1;
      const isOver = await pause(waitMs + this.#random() * longestPauseMs, plan.signal);
      standing.pausing -= 1;
      if (!isOver) return false;
    }
  }

  /** All have been asked, and one may do better after a pause; by chance, so that not all come back at once. */
  async #onceMore(plan: Plan, tally: Tally): Promise<Candidate | null> {
    const candidate = tally.again;
    if (candidate === null || tally.final !== null || tally.attempts >= mostAttempts) return null;
    const pauseMs = shortestPauseMs + this.#random() * (longestPauseMs - shortestPauseMs);
    if (!(await pause(pauseMs, plan.signal))) {
      tally.final = cancelled(plan.signal);
      return null;
    }
    if (!this.#enter(candidate, plan, tally, this.#nowMs())) return null;
    return this.#unlessTooOften(candidate, tally);
  }

  /** Takes a place at a deployment that is well, or has no alternative, and is not full. */
  #enter(candidate: Candidate, plan: Plan, tally: Tally, nowMs: number): boolean {
    const pass = candidate.standing.breaker.tryPass(nowMs, plan.keyId);
    if (pass === "cooling") tally.wantsPause(candidate, nowMs);
    if (pass === "cooling" || (pass === "open" && !tally.insists)) return false;
    tally.isProbe = pass === "probe";
    if (tryTakePlace(candidate.standing)) return true;
    if (tally.isProbe) candidate.standing.breaker.abandonProbe();
    tally.busy ??= candidate;
    return false;
  }

  /** The first attempt is free, the others come out of the budget. */
  #mayTry(tally: Tally): boolean {
    if (tally.attempts === 0) return true;
    return tally.attempts < mostAttempts && this.#budget.tryRetry(this.#nowMs());
  }

  #nowMs(): number {
    return this.#clock.monotonicMs();
  }
}

/** Gives everything back before a call was made; a call that was made gives its place back itself. */
export function leave({ standing }: Candidate, tally: Tally): void {
  if (tally.isProbe) standing.breaker.abandonProbe();
  givePlaceBack(standing);
}
