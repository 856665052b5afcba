import { GatewayError } from "../base/errors.ts";
import type { Prepared } from "../providers/provider.ts";
import { Call, type CallContext } from "./call.ts";
import type { Candidate, Directory } from "./directory.ts";
import { cancelled, type Failure, unprepared } from "./failure.ts";
import { RetryBudget } from "./retry-budget.ts";
import { causeOf, Tally } from "./tally.ts";
import type { GenerationPlan, Opened, Plan } from "./upstream.ts";

/** Where failed attempts are told; a pino logger fits. Fields never hold keys, prompts or answers. */
export interface UpstreamLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** All attempts of one exchange; enough for every sane configuration, and an end for the others. */
const mostAttempts = 5;
const shortestPauseMs = 50;
const longestPauseMs = 250;

/** Asks deployment after deployment until one answers. Nothing has reached the client before that. */
export class Attempts {
  readonly #context: CallContext;
  readonly #directory: Directory;
  readonly #log: UpstreamLog;
  readonly #random: () => number;
  readonly #budget = new RetryBudget();

  constructor(context: CallContext, directory: Directory, log: UpstreamLog, random: () => number) {
    this.#context = context;
    this.#directory = directory;
    this.#log = log;
    this.#random = random;
  }

  /** One loop with one wait: an asynchronous function for each deployment would leave a dozen objects behind each time. */
  async open(plan: GenerationPlan): Promise<Opened> {
    const tally = new Tally();
    let nowMs = this.#nowMs();
    this.#budget.request(nowMs);
    const order = this.#directory.order(plan.model, plan.scope, nowMs);
    for (;;) {
      const withOtherKey = tally.withOtherKey !== null;
      const next = this.#next(order, plan, tally, nowMs);
      const candidate = next instanceof Promise ? await next : next;
      if (candidate === null) throw tally.error();
      if (next instanceof Promise) nowMs = this.#nowMs();
      const prepared = this.#prepare(candidate, plan, tally);
      if (prepared === null) continue;
      const apiKey = candidate.standing.account.keys.pick(nowMs);
      const call = new Call(this.#context, candidate, plan, prepared.operation);
      const startedMs = nowMs;
      tally.asks(candidate, withOtherKey);
      candidate.standing.inFlight += 1;
      const failure = await call.begin(prepared, apiKey, nowMs);
      nowMs = this.#nowMs();
      if (failure === null) {
        candidate.standing.breaker.answered(nowMs);
        call.attempts = tally.attempts;
        call.answeredAfterMs = nowMs - startedMs;
        return call;
      }
      tally.failed(candidate, failure);
      plan.attemptFailed(
        candidate.deployment,
        tally.record(candidate, failure, call.status, nowMs - startedMs),
      );
      this.#report(plan.requestId, candidate.standing.name, failure);
      const otherKey = this.#learn(candidate, failure, apiKey);
      tally.withOtherKey = otherKey && this.#mayTry(tally) && enterNow(candidate) ? candidate : null;
    }
  }

  /** Whose turn it is, a place there taken; null when nobody is left to be asked. */
  #next(
    order: readonly Candidate[],
    plan: Plan,
    tally: Tally,
    nowMs: number,
  ): Candidate | null | Promise<Candidate | null> {
    const withOtherKey = tally.withOtherKey;
    tally.withOtherKey = null;
    if (withOtherKey !== null) return withOtherKey;
    while (tally.final === null) {
      const candidate = order[tally.passed];
      if (candidate === undefined) break;
      tally.passed += 1;
      if (!this.#enter(candidate, tally, nowMs)) continue;
      if (this.#mayTry(tally)) return candidate;
      leave(candidate);
      break;
    }
    tally.passed = order.length;
    return this.#lastResort(plan, tally);
  }

  /** Each at most once: a place where all were full, and a second try after a pause. */
  async #lastResort(plan: Plan, tally: Tally): Promise<Candidate | null> {
    let candidate: Candidate | null = null;
    if (!tally.hasWaited) {
      tally.hasWaited = true;
      candidate = await this.#whenThereIsRoom(plan, tally);
    }
    if (candidate !== null || tally.isRepeated) return candidate;
    tally.isRepeated = true;
    return this.#onceMore(plan, tally);
  }

  /** Nobody was asked, because all who could have been are full: wait a moment for a place. */
  async #whenThereIsRoom(plan: Plan, tally: Tally): Promise<Candidate | null> {
    const candidate = tally.busy;
    if (candidate === null || tally.attempts > 0) return null;
    const { gate, account } = candidate.standing;
    if (gate !== null && !(await gate.enter(plan.signal))) return null;
    if (account.gate !== null && !(await account.gate.enter(plan.signal))) {
      gate?.leave();
      return null;
    }
    if (this.#passes(candidate, tally, this.#nowMs())) return candidate;
    leave(candidate);
    return null;
  }

  /** All have been asked, and one may do better after a pause; by chance, so that not all come back at once. */
  async #onceMore(plan: Plan, tally: Tally): Promise<Candidate | null> {
    const candidate = tally.again;
    if (candidate === null || tally.final !== null || !this.#mayTry(tally)) return null;
    await Bun.sleep(shortestPauseMs + this.#random() * (longestPauseMs - shortestPauseMs));
    if (plan.signal.aborted) tally.final = cancelled(plan.signal);
    if (plan.signal.aborted || !this.#enter(candidate, tally, this.#nowMs())) return null;
    return candidate;
  }

  #prepare(candidate: Candidate, plan: Plan, tally: Tally): Prepared | null {
    try {
      return plan.prepare(candidate.deployment);
    } catch (error) {
      leave(candidate);
      if (!(error instanceof GatewayError)) throw error;
      tally.final = unprepared(error);
      return null;
    }
  }

  /** Draws the consequences of a failure; says whether another key of the pool should be tried at once. */
  #learn(candidate: Candidate, failure: Failure, apiKey: string | null): boolean {
    const { breaker, account } = candidate.standing;
    const nowMs = this.#nowMs();
    if (failure.key === "rejected" && account.keys.rejected(apiKey, nowMs)) return true;
    const pauseMs = failure.coolDownMs ?? 0;
    if (failure.key === "throttled" && account.keys.size > 1) {
      if (account.keys.throttled(apiKey, nowMs, Math.max(pauseMs, 1000))) return true;
    }
    if (pauseMs > 0) breaker.coolDown(nowMs, pauseMs);
    else if (failure.fault) breaker.failed(nowMs, failure.coolDownMs !== null);
    else breaker.abandoned();
    return false;
  }

  #report(requestId: string, deployment: string, failure: Failure): void {
    if (failure.kind === "cancelled") return;
    const fields = { request_id: requestId, deployment, failure: failure.kind };
    if (!failure.alarm) {
      this.#log.warn({ ...fields, cause: causeOf(failure) ?? undefined }, "attempt failed");
      return;
    }
    // Not in the provider's own words: it may quote the prompt. `models check` asks it with words of ours.
    this.#log.error(
      fields,
      "the provider refuses this gateway: `sluice models check` tells why (key, account or the model's name)",
    );
  }

  /** Takes a place at a deployment that is well and not full. */
  #enter(candidate: Candidate, tally: Tally, nowMs: number): boolean {
    if (!this.#passes(candidate, tally, nowMs)) return false;
    if (enterNow(candidate)) return true;
    candidate.standing.breaker.abandoned();
    tally.busy ??= candidate;
    return false;
  }

  #passes({ standing: { breaker } }: Candidate, tally: Tally, nowMs: number): boolean {
    if (breaker.tryPass(nowMs)) return true;
    if (breaker.isBusy(nowMs)) tally.cooling(breaker.waitMs(nowMs));
    return false;
  }

  /** The first attempt is free, the others come out of the budget. */
  #mayTry(tally: Tally): boolean {
    if (tally.attempts === 0) return true;
    return tally.attempts < mostAttempts && this.#budget.tryRetry(this.#nowMs());
  }

  #nowMs(): number {
    return this.#context.clock.monotonicMs();
  }
}

function enterNow({ standing }: Candidate): boolean {
  const { gate, account } = standing;
  if (gate !== null && !gate.tryEnter()) return false;
  if (account.gate === null || account.gate.tryEnter()) return true;
  gate?.leave();
  return false;
}

/** Gives the place back before a call was made; a call that was made does so itself. */
function leave({ standing }: Candidate): void {
  standing.breaker.abandoned();
  standing.gate?.leave();
  standing.account.gate?.leave();
}
