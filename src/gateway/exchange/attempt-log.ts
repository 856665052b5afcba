import { type AttemptRecord, type DeniedModel, noAttempts } from "../../base/requests/attempt.ts";
import type { Usage } from "../../base/usage/usage.ts";
import {
  type AttemptCount,
  type AttemptTarget,
  type ChargedAttempt,
  chargedAttempt,
  noAttemptCounts,
  unchargedAttempt,
} from "../../store/attempt-sums.ts";
import type { Deployment, FailedAttempt, OpenedCall } from "../../upstream/upstream.ts";
import { errorCode } from "./describe-error.ts";

/** Failures of calls that the provider may have worked on. */
const lateFailures: ReadonlySet<string | null> = new Set([
  "connection_closed",
  "incomplete_response",
  "timeout",
  "cancelled",
]);

/** The attempts of one exchange, and what their providers may bill for them, whether or not the exchange is charged for it. */
export class AttemptLog {
  /** The deployment that responds or, before that, the one tried last. */
  deployment: Deployment | null = null;
  count = 0;
  /** The failed attempts before one succeeded, in order; `records` has them all. */
  failed: readonly AttemptRecord[] = noAttempts;
  /** Models that did not run, and why. */
  denied: readonly DeniedModel[] = noneDenied;
  /** The usage that the provider of the last attempt has reported; null if none. */
  reported: Usage | null = null;
  #earlier = noAttemptCounts;
  #last: AttemptTarget | null = null;
  #mayBeBilled = false;
  #isAccepted = false;
  /** Time until the successful attempt's response began; null before that. */
  #answeredAfterMs: number | null = null;

  addFailed(...[deployment, record, credential, wasSent, reported]: FailedAttempt): void {
    const { status, failure } = record;
    this.#isAccepted = failure === "cancelled" && (status === 200 || (status === null && wasSent));
    this.#begin(deployment, credential, status === 200 || (status === null && lateFailures.has(failure)));
    this.reported = reported;
    this.failed = [...this.failed, record];
    this.count = this.failed.length;
  }

  addDenied(model: string, { message }: Error): void {
    this.denied = [...this.denied, { model, message }];
  }

  addAnswered({ deployment, credential, attempts, answeredAfterMs }: OpenedCall): void {
    this.#isAccepted = true;
    this.#begin(deployment, credential, true);
    this.count = attempts;
    this.#answeredAfterMs = answeredAfterMs;
  }

  /** The provider has begun to respond to the last attempt, or its client cancelled it after the whole request was sent. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  /** The target that was called last. */
  get served(): AttemptTarget | undefined {
    return this.#last ?? undefined;
  }

  /** The last one is paid for by the exchange. */
  charged(charge: ChargedAttempt): readonly AttemptCount[] {
    return this.#last === null ? this.#earlier : after(this.#earlier, chargedAttempt(this.#last, charge));
  }

  uncharged(): readonly AttemptCount[] {
    if (this.#last === null || !this.#mayBeBilled) return this.#earlier;
    return after(this.#earlier, unchargedAttempt(this.#last, this.reported));
  }

  #begin(deployment: Deployment, credential: string | null, mayBeBilled: boolean): void {
    const { provider, shownModel } = deployment;
    this.#earlier = this.uncharged();
    this.deployment = deployment;
    this.reported = null;
    this.#last = {
      provider: provider.settings.name,
      credential: credential ?? "",
      upstreamModel: shownModel,
    };
    this.#mayBeBilled = mayBeBilled;
  }

  /** Every attempt in order. `error` is how the exchange ended: a response can also fail after it has begun. */
  records(error: unknown): readonly AttemptRecord[] {
    const { deployment, denied } = this;
    if (deployment === null || this.#answeredAfterMs === null) return withDenied(this.failed, denied);
    const answered: AttemptRecord = {
      deployment: deployment.name,
      provider: deployment.provider.settings.name,
      upstreamModel: deployment.shownModel,
      status: 200,
      code: error === null ? null : errorCode(error),
      failure: error === null ? null : "interrupted_response",
      cause: null,
      said: null,
      durationMs: this.#answeredAfterMs,
      left: "ended",
    };
    return withDenied([...this.failed, answered], denied);
  }
}

const noneDenied: readonly DeniedModel[] = [];

/** Denied models are stored with the last attempt. */
function withDenied(
  records: readonly AttemptRecord[],
  denied: readonly DeniedModel[],
): readonly AttemptRecord[] {
  const last = records.at(-1);
  return denied.length === 0 || last === undefined ? records : [...records.slice(0, -1), { ...last, denied }];
}

/** Nearly every exchange has one attempt. */
function after(earlier: readonly AttemptCount[], last: AttemptCount): readonly AttemptCount[] {
  return earlier.length === 0 ? [last] : [...earlier, last];
}
