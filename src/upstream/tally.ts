import { type AttemptRecord, cutSaid } from "../base/attempt.ts";
import { GatewayError } from "../base/errors.ts";
import type { Candidate } from "./directory.ts";
import type { Failure } from "./failure.ts";

type MutableRecord = { -readonly [Field in keyof AttemptRecord]: AttemptRecord[Field] };

interface FailedAttempt {
  readonly candidate: Candidate;
  readonly record: MutableRecord;
}

/** What has been learned while one exchange asked deployment after deployment. */
export class Tally {
  /** Whom to ask, in this order. */
  readonly order: readonly Candidate[];
  attempts = 0;
  /** How many of the order have had their turn. */
  passed = 0;
  /** Was asked, and is to be asked again at once with another of its keys; a place there is taken. */
  withOtherKey: Candidate | null = null;
  /** Whether whoever is asked now is the one call that a breaker lets through. */
  isProbe = false;
  /** There is no alternative, so breakers are not heeded. */
  insists: boolean;
  hasWaited = false;
  isRepeated = false;
  /** A failure that no other attempt can mend. */
  final: Failure | null = null;
  /** Failed in a way that a moment may mend. */
  again: Candidate | null = null;
  /** Full; a place may be waited for. */
  busy: Candidate | null = null;
  #last: Failure | null = null;
  #lastAsked: FailedAttempt | null = null;
  #overloaded: Failure | null = null;
  /** Of those whose providers want to be left alone, the one for the shortest time. */
  cooling: Candidate | null = null;
  #askedPauseMs = Number.POSITIVE_INFINITY;

  constructor(order: readonly Candidate[]) {
    this.order = order;
    this.insists = order.length === 1;
  }

  failed(candidate: Candidate, failure: Failure): void {
    this.#last = failure;
    if (failure.coolDownMs !== null) this.#overloaded ??= failure;
    if (failure.again) this.again ??= candidate;
    if (!failure.elsewhere) this.final = failure;
  }

  /** Makes the record of an attempt that failed; it counts as the last until `asks` says otherwise. */
  record(candidate: Candidate, failure: Failure, status: number | null, durationMs: number): AttemptRecord {
    const { deployment } = candidate;
    const record: MutableRecord = {
      deployment: deployment.name,
      provider: deployment.provider.settings.name,
      upstreamModel: deployment.upstreamModel,
      status,
      code: failure.kind === "cancelled" ? null : failure.error.code,
      failure: failure.kind,
      cause: causeOf(failure),
      said: failure.said === null ? null : cutSaid(failure.said),
      durationMs,
      left: "ended",
    };
    this.#lastAsked = { candidate, record };
    return record;
  }

  /** Another attempt is made, which is why the one before it was left. */
  asks(candidate: Candidate, withOtherKey: boolean): void {
    this.attempts += 1;
    if (this.#lastAsked === null) return;
    const isSame = this.#lastAsked.candidate === candidate;
    this.#lastAsked.record.left = withOtherKey ? "other_key" : isSame ? "retry" : "next_deployment";
  }

  /** Passed over, because its provider has asked to be left alone. */
  wantsPause(candidate: Candidate, nowMs: number): void {
    const pauseMs = candidate.standing.breaker.askedPauseMs(nowMs);
    if (pauseMs >= this.#askedPauseMs) return;
    this.cooling = candidate;
    this.#askedPauseMs = pauseMs;
  }

  /** What the client is told. That a provider is busy goes first: it tells the client when to come back. */
  error(): GatewayError {
    if (this.final !== null) return this.final.error;
    if (this.#overloaded !== null) return this.#overloaded.error;
    if (this.#last !== null) return this.#last.error;
    if (this.busy !== null)
      return new GatewayError("service_unavailable", "The model is busy. Please try again.");
    if (this.cooling !== null) {
      const retryAfterSeconds = Math.max(1, Math.ceil(this.#askedPauseMs / 1000));
      return new GatewayError("service_unavailable", "The provider is busy. Please try again.", {
        retryAfterSeconds,
      });
    }
    return new GatewayError("provider_unavailable", "No provider of this model is available at the moment.");
  }
}

/** The system's code for what went wrong, such as `ECONNREFUSED`. */
export function causeOf(failure: Failure): string | null {
  const { cause } = failure.error;
  return cause instanceof Error && "code" in cause ? String(cause.code) : null;
}
