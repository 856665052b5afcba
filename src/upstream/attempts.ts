import { GatewayError } from "../base/errors.ts";
import {
  type Credential,
  CredentialUnavailable,
  type CredentialUse,
} from "../vendors/credentials/credential.ts";
import type { PreparedRequest } from "../vendors/provider.ts";
import { certificateProblem } from "../wire/certificate-problem.ts";
import type { CallContext } from "./call/call-state.ts";
import { UpstreamCall } from "./call/upstream-call.ts";
import { cancelled, type Failure, notSent } from "./failure.ts";
import type { Candidate } from "./health/deployment-state.ts";
import type { CallHistory } from "./health/recent-calls.ts";
import { AttemptState, causeOf } from "./selection/attempt-state.ts";
import { CandidateSelector, giveUpCandidate } from "./selection/candidate-selector.ts";
import type { Directory } from "./selection/directory.ts";
import type { GenerationPlan, OpenedCall, Plan } from "./upstream.ts";

/** Logs failed attempts; a pino logger fits. Fields never contain keys, prompts or responses. */
export interface UpstreamLog {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** The credential of one attempt. */
interface UsedCredential {
  readonly key: Credential | null;
  readonly use: CredentialUse | null;
}

/** A throttled key rests at least this long, since other keys can take over. */
const minKeyRestMs = 1000;

const noteEveryMs = 1000;

/** Tries candidates in order until one responds. Nothing has been sent to the client before that. */
export class Attempts {
  readonly #context: CallContext;
  readonly #directory: Directory;
  readonly #log: UpstreamLog;
  readonly #selector: CandidateSelector;

  constructor(context: CallContext, directory: Directory, log: UpstreamLog, random: () => number) {
    this.#context = context;
    this.#directory = directory;
    this.#log = log;
    this.#selector = new CandidateSelector(context.clock, random);
  }

  async open(plan: GenerationPlan): Promise<OpenedCall> {
    let nowMs = this.#nowMs();
    this.#selector.countExchange(nowMs);
    const state = new AttemptState(this.#directory.order(plan, nowMs));
    state.paidModel = plan.model;
    for (;;) {
      const isOtherKey = state.isOtherKey;
      const candidate = await this.#selector.next(plan, state, nowMs);
      if (candidate === null) throw state.error();
      const isPaid = candidate.deployment.model === state.paidModel;
      if (!isPaid && !(await this.#mayRun(candidate, plan, state))) continue;

      let prepared: PreparedRequest;
      try {
        prepared = await plan.prepare(candidate.deployment);
      } catch (error) {
        throw notPrepared(candidate, state, error);
      }
      if (plan.isOver) throw disconnectedBeforeSending(candidate, plan, state);
      if (!this.#selector.beginAttempt(candidate, state)) continue;

      const startedMs = this.#nowMs();
      const key = candidate.state.providerState.keys.pick(startedMs, plan);
      const use = key?.use() ?? null;
      const call = new UpstreamCall(this.#context, candidate, plan, prepared.dialect);
      state.attemptBegins(candidate, isOtherKey);
      candidate.state.inFlight += 1;
      const { history } = candidate.state;
      history.began(startedMs);
      const failure = await call.begin(prepared, use, startedMs);

      nowMs = this.#nowMs();
      const durationMs = nowMs - startedMs;
      if (failure === null) {
        candidate.state.breaker.answered(nowMs, plan.keyId);
        history.answered(nowMs, this.#context.clock);
        use?.accepted();
        call.attempts = state.attempts;
        call.answeredAfterMs = durationMs;
        call.credential = key?.id ?? null;
        return call;
      }
      // The provider has accepted the credential, whatever else is wrong.
      if (call.status !== null && !failure.hasExpired) use?.accepted();
      const record = state.attemptFailed(candidate, failure, call.status, durationMs);
      if (plan.isOver) state.finalFailure ??= cancelled(plan.signal);
      if (call.whole.bytes > 0) plan.failedWith?.(call.whole);
      const { wasSent = false, reported = null } = failure;
      plan.attemptFailed(candidate.deployment, record, key?.id ?? null, wasSent, reported);
      this.#report(plan.requestId, candidate.state.name, failure);
      if (failure.kind === "cancelled") history.cancelled(nowMs, durationMs);
      else history.failed();
      this.#noteFailure(history, failure, record.said, plan);
      this.#learn(candidate, failure, { key, use }, plan, state);
    }
  }

  /** Whether the candidate's model is covered by a hold. If not, it is skipped without an attempt. */
  async #mayRun(candidate: Candidate, plan: GenerationPlan, state: AttemptState): Promise<boolean> {
    const { model } = candidate.deployment;
    let isPaid = false;
    try {
      isPaid = plan.mayRun === undefined || (await plan.mayRun(model));
    } finally {
      if (!isPaid) giveUpCandidate(candidate, state);
    }
    if (isPaid) state.paidModel = model;
    return isPaid;
  }

  /**
   * Records a failure for the operator, unless the request or the client caused it. At most once a second, because
   * comparing the message with the request takes up to a millisecond.
   */
  #noteFailure(history: CallHistory, failure: Failure, message: string | null, plan: GenerationPlan): void {
    if (failure.alarm) history.alarm = failure.kind;
    // The quoted message must belong to the alarm.
    if (!failure.alarm && (failure.evidence === null || history.alarm !== null)) return;
    const atMs = this.#context.clock.wallMs();
    const { failing } = history;
    if (failing?.failure === failure.kind && atMs - failing.atMs < noteEveryMs) return;
    const redacted = message === null ? null : plan.redactRequestText(message);
    history.failing = {
      sinceMs: failing?.sinceMs ?? atMs,
      atMs,
      failure: failure.kind,
      providerMessage: redacted,
    };
  }

  /** Updates breaker and key pool after a failure, and selects another key of the pool if that may help. */
  #learn(
    candidate: Candidate,
    failure: Failure,
    { key, use }: UsedCredential,
    plan: GenerationPlan,
    state: AttemptState,
  ): void {
    const { breaker, providerState } = candidate.state;
    const { evidence, keyProblem } = failure;
    const coolDownMs = failure.coolDownMs ?? 0;
    const nowMs = this.#nowMs();
    if (failure.rejectsSignatures && this.#tryWithoutSignatures(candidate, plan, state)) return;
    if (renewCredential(failure, use, state) && this.#selector.tryAgain(candidate, state)) return;
    if (coolDownKey(candidate, failure, key, nowMs)) {
      // It was the key's fault, not the deployment's.
      const mayUseOther = state.finalFailure === null && plan.credential === null;
      const isTriedAgain = mayUseOther && this.#selector.tryOtherKey(candidate, state);
      if (!isTriedAgain && state.isProbe) breaker.abandonProbe();
      return;
    }
    if (coolDownMs === 0 && evidence !== null) {
      breaker.failed(nowMs, { keyId: plan.keyId, evidence, isProbe: state.isProbe });
      return;
    }
    if (coolDownMs > 0) {
      const isPool = keyProblem === "throttled" && providerState.keys.size > 1;
      const durationMs = isPool ? providerState.keys.readyInMs(nowMs) : coolDownMs;
      breaker.coolDowns.begin(nowMs, durationMs, plan.keyId);
    }
    if (state.isProbe) breaker.abandonProbe();
  }

  /** Retries at most once, because without signatures none can be rejected. */
  #tryWithoutSignatures(candidate: Candidate, plan: GenerationPlan, state: AttemptState): boolean {
    if (plan.isOver || !plan.dropSignatures() || !this.#selector.tryAgain(candidate, state)) return false;
    state.finalFailure = null;
    return true;
  }

  #report(requestId: string, deployment: string, failure: Failure): void {
    if (failure.kind === "cancelled") return;
    const fields = { request_id: requestId, deployment, failure: failure.kind };
    if (!failure.alarm) {
      this.#log.warn({ ...fields, cause: causeOf(failure) ?? undefined }, "attempt failed");
      return;
    }
    const { cause } = failure.error;
    if (cause instanceof CredentialUnavailable) {
      this.#log.error(fields, `no credential for this provider: ${cause.message}`);
      return;
    }
    const certificate = certificateProblem(cause);
    if (certificate !== null) {
      this.#log.error(fields, `the provider's certificate ${certificate.message}`);
      return;
    }
    // Without the provider's message, which may quote the prompt.
    this.#log.error(
      fields,
      "provider rejected the gateway's credentials, account or model name; run `sluice models check`",
    );
  }

  #nowMs(): number {
    return this.#context.clock.monotonicMs();
  }
}

/** The request cannot be made for this deployment. */
function notPrepared(candidate: Candidate, state: AttemptState, error: unknown): unknown {
  giveUpCandidate(candidate, state);
  if (!(error instanceof GatewayError)) return error;
  state.finalFailure = notSent(error);
  return state.error();
}

/** The client can disconnect while its body is read, its input counted or its request translated. */
function disconnectedBeforeSending(candidate: Candidate, plan: Plan, state: AttemptState): GatewayError {
  giveUpCandidate(candidate, state);
  state.finalFailure = cancelled(plan.signal);
  return state.error();
}

/**
 * Returns true if an expired credential can be replaced. At most once per exchange: if the provider rejects the new one too,
 * age was not the reason.
 */
function renewCredential(failure: Failure, use: CredentialUse | null, state: AttemptState): boolean {
  if (!failure.hasExpired || state.hasRenewedCredential || state.finalFailure !== null) return false;
  state.hasRenewedCredential = use?.expired() === true;
  return state.hasRenewedCredential;
}

/** Rests a key that was rejected or throttled. Returns true if another key of the pool is ready. */
function coolDownKey(candidate: Candidate, failure: Failure, key: Credential | null, nowMs: number): boolean {
  const { keys } = candidate.state.providerState;
  if (failure.keyProblem === "rejected") return keys.rejected(key, nowMs);
  if (failure.keyProblem !== "throttled" || keys.size <= 1) return false;
  if (failure.quotaResetMs !== null) return keys.exhausted(key, nowMs, failure.quotaResetMs);
  return keys.throttled(key, nowMs, Math.max(failure.coolDownMs ?? 0, minKeyRestMs));
}
