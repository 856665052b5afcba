import { GatewayError } from "../../base/errors.ts";
import { type AttemptRecord, truncateMessage } from "../../base/requests/attempt.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { Failure } from "../failure.ts";
import type { Candidate } from "../health/deployment-state.ts";

type MutableRecord = { -readonly [Field in keyof AttemptRecord]: AttemptRecord[Field] };

interface FailedAttempt {
  readonly candidate: Candidate;
  readonly record: MutableRecord;
}

/** The state of one exchange across its attempts. */
export class AttemptState {
  readonly candidates: readonly Candidate[];
  /** The next of `candidates` to consider. */
  nextIndex = 0;
  attempts = 0;
  /** The candidate to try next at once; its slot is already taken. */
  nextCandidate: Candidate | null = null;
  /** The next attempt uses another of the provider's keys. */
  isOtherKey = false;
  /** The next attempt is taken from the retry budget when it begins. */
  usesRetryBudget = false;
  /** Whether the current attempt is the single probe that an open breaker lets through. */
  isProbe = false;
  /** There is no alternative, so open breakers are ignored. */
  ignoresBreakers: boolean;
  hasWaited = false;
  /** An expired credential was renewed for this exchange. */
  hasRenewedCredential = false;
  hasRetried = false;
  /** The model that is paid for; null before the first attempt. */
  paidModel: ModelSettings | null = null;
  /** A failure that no further attempt can fix. */
  finalFailure: Failure | null = null;
  /** The first candidate whose failure may be temporary. */
  retryCandidate: Candidate | null = null;
  /** The first candidate without a free slot. */
  busyCandidate: Candidate | null = null;
  /** The candidate with the shortest wait, of all that were skipped for a cooldown. */
  coolingCandidate: Candidate | null = null;
  #shortestCoolDownMs = Number.POSITIVE_INFINITY;
  #lastFailure: Failure | null = null;
  #lastAttempt: FailedAttempt | null = null;
  #firstOverload: Failure | null = null;

  constructor(candidates: readonly Candidate[]) {
    this.candidates = candidates;
    this.ignoresBreakers = candidates.length === 1;
  }

  /** Another attempt begins; records why the one before it was abandoned. */
  attemptBegins(candidate: Candidate, isOtherKey: boolean): void {
    this.attempts += 1;
    if (this.#lastAttempt === null) return;
    const isSame = this.#lastAttempt.candidate === candidate;
    this.#lastAttempt.record.left = isOtherKey ? "other_key" : isSame ? "retry" : "next_deployment";
  }

  /** The attempt's record. It counts as the last one until another begins. */
  attemptFailed(
    candidate: Candidate,
    failure: Failure,
    status: number | null,
    durationMs: number,
  ): AttemptRecord {
    this.#lastFailure = failure;
    if (failure.coolDownMs !== null) this.#firstOverload ??= failure;
    if (failure.mayRetry) this.retryCandidate ??= candidate;
    if (!failure.mayTryOtherDeployments) this.finalFailure = failure;
    const record = recordOf(candidate, failure, status, durationMs);
    this.#lastAttempt = { candidate, record };
    return record;
  }

  skippedCooling(candidate: Candidate, nowMs: number, keyId: string): void {
    const coolDownMs = candidate.state.breaker.coolDowns.requestedMs(nowMs, keyId);
    if (coolDownMs >= this.#shortestCoolDownMs) return;
    this.coolingCandidate = candidate;
    this.#shortestCoolDownMs = coolDownMs;
  }

  /** The client's error. An overload takes precedence, because it tells when to retry. */
  error(): GatewayError {
    const failure = this.finalFailure ?? this.#firstOverload ?? this.#lastFailure;
    if (failure !== null) return failure.error;
    if (this.busyCandidate !== null) {
      return new GatewayError(
        "service_unavailable",
        "All providers of this model are at their concurrency limit. Retry in a few seconds.",
      );
    }
    if (this.coolingCandidate !== null) {
      const retryAfterSeconds = Math.max(1, Math.ceil(this.#shortestCoolDownMs / 1000));
      return new GatewayError(
        "service_unavailable",
        `All providers of this model are rate limiting the gateway. Retry in ${retryAfterSeconds} s.`,
        { retryAfterSeconds },
      );
    }
    return new GatewayError(
      "provider_unavailable",
      "No provider of this model is available. Retry in a few seconds.",
    );
  }
}

function recordOf(
  { deployment }: Candidate,
  failure: Failure,
  status: number | null,
  durationMs: number,
): MutableRecord {
  return {
    deployment: deployment.name,
    provider: deployment.provider.settings.name,
    upstreamModel: deployment.shownModel,
    status,
    code: failure.kind === "cancelled" ? null : failure.error.code,
    failure: failure.kind,
    cause: causeOf(failure),
    said: failure.providerMessage === null ? null : truncateMessage(failure.providerMessage),
    durationMs,
    left: "ended",
  };
}

/** The system's error code, such as `ECONNREFUSED`. */
export function causeOf(failure: Failure): string | null {
  const { cause } = failure.error;
  return cause instanceof Error && "code" in cause ? String(cause.code) : null;
}
