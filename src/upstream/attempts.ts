import { GatewayError } from "../base/errors.ts";
import type { Prepared } from "../vendors/provider.ts";
import { Call, type CallContext } from "./call.ts";
import type { Candidate, Directory } from "./directory.ts";
import { cancelled, type Failure, unprepared } from "./failure.ts";
import { causeOf, Tally } from "./tally.ts";
import { leave, Turns } from "./turns.ts";
import type { GenerationPlan, Opened, Plan } from "./upstream.ts";

/** Where failed attempts are told; a pino logger fits. Fields never hold keys, prompts or answers. */
export interface UpstreamLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** How long a key rests at least when the provider throttles it, since others can take its turn. */
const shortestKeyRestMs = 1000;

/** Asks deployment after deployment until one answers. Nothing has reached the client before that. */
export class Attempts {
  readonly #context: CallContext;
  readonly #directory: Directory;
  readonly #log: UpstreamLog;
  readonly #turns: Turns;

  constructor(context: CallContext, directory: Directory, log: UpstreamLog, random: () => number) {
    this.#context = context;
    this.#directory = directory;
    this.#log = log;
    this.#turns = new Turns(context.clock, random);
  }

  /** One loop with one wait: an asynchronous function for each deployment would leave a dozen objects behind each time. */
  async open(plan: GenerationPlan): Promise<Opened> {
    let nowMs = this.#nowMs();
    this.#turns.begin(nowMs);
    const tally = new Tally(this.#directory.order(plan, nowMs));
    for (;;) {
      const withOtherKey = tally.withOtherKey !== null;
      const next = this.#turns.next(plan, tally, nowMs);
      const candidate = next instanceof Promise ? await next : next;
      if (candidate === null) throw tally.error();
      if (next instanceof Promise) nowMs = this.#nowMs();
      const preparing = this.#prepare(candidate, plan, tally);
      const prepared = preparing instanceof Promise ? await preparing : preparing;
      if (prepared === null) continue;
      if (preparing instanceof Promise) nowMs = this.#nowMs();
      const { standing } = candidate;
      const apiKey = standing.account.keys.pick(nowMs);
      const call = new Call(this.#context, candidate, plan);
      const startedMs = nowMs;
      tally.asks(candidate, withOtherKey);
      standing.inFlight += 1;
      const failure = await call.begin(prepared, apiKey, nowMs);
      nowMs = this.#nowMs();
      if (failure === null) {
        standing.breaker.answered(nowMs, plan.keyId);
        call.attempts = tally.attempts;
        call.answeredAfterMs = nowMs - startedMs;
        return call;
      }
      tally.failed(candidate, failure);
      if (plan.isOver) tally.final ??= cancelled(plan.signal);
      plan.attemptFailed(
        candidate.deployment,
        tally.record(candidate, failure, call.status, nowMs - startedMs),
      );
      this.#report(plan.requestId, standing.name, failure);
      this.#learn(candidate, failure, apiKey, plan, tally);
    }
  }

  #prepare(candidate: Candidate, plan: Plan, tally: Tally): Prepared | null | Promise<Prepared | null> {
    try {
      const prepared = plan.prepare(candidate.deployment);
      if (!(prepared instanceof Promise)) return prepared;
      return prepared.catch((error: unknown) => unpreparable(candidate, tally, error));
    } catch (error) {
      return unpreparable(candidate, tally, error);
    }
  }

  /** Updates key pool and breaker after a failure, or decides to try another of the provider's keys at once. */
  #learn(candidate: Candidate, failure: Failure, apiKey: string | null, plan: Plan, tally: Tally): void {
    const { breaker, account } = candidate.standing;
    const nowMs = this.#nowMs();
    const pauseMs = failure.coolDownMs ?? 0;
    if (restKey(candidate, failure, apiKey, nowMs)) {
      // It was the key's fault and not the deployment's.
      if (tally.final === null && this.#turns.tryOtherKey(candidate, tally)) tally.withOtherKey = candidate;
      else if (tally.isProbe) breaker.abandonProbe();
      return;
    }
    const { evidence } = failure;
    if (pauseMs === 0 && evidence !== null) {
      breaker.failed(nowMs, { keyId: plan.keyId, evidence, isProbe: tally.isProbe });
      return;
    }
    if (pauseMs > 0) {
      const isPool = failure.key === "throttled" && account.keys.size > 1;
      breaker.coolDown(nowMs, isPool ? account.keys.readyInMs(nowMs) : pauseMs);
    }
    if (tally.isProbe) breaker.abandonProbe();
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

  #nowMs(): number {
    return this.#context.clock.monotonicMs();
  }
}

/** Leaves a key alone that the provider has refused or throttled; says whether another one is ready. */
function restKey(candidate: Candidate, failure: Failure, apiKey: string | null, nowMs: number): boolean {
  const { keys } = candidate.standing.account;
  if (failure.key === "rejected") return keys.rejected(apiKey, nowMs);
  if (failure.key !== "throttled" || keys.size <= 1) return false;
  return keys.throttled(apiKey, nowMs, Math.max(failure.coolDownMs ?? 0, shortestKeyRestMs));
}

/** Gives the place back. A request that cannot be made for one deployment ends the exchange. */
function unpreparable(candidate: Candidate, tally: Tally, error: unknown): null {
  leave(candidate, tally);
  if (!(error instanceof GatewayError)) throw error;
  tally.final = unprepared(error);
  return null;
}
