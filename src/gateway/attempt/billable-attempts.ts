import { shownModel } from "../../base/models/shown-model.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import type { Usage } from "../../base/usage/usage.ts";
import {
  type AttemptCount,
  type ChargedAttempt,
  chargedAttempt,
  noAttemptCounts,
  type Served,
  unchargedAttempt,
} from "../../store/attempt-sums.ts";
import type { Deployment } from "../../upstream/upstream.ts";

/** A provider that has had a request for so long works on it. */
const acceptedAfterMs = 2000;

/** Failures of calls that the provider may have worked on. */
const lateFailures: ReadonlySet<string | null> = new Set([
  "connection_closed",
  "incomplete_response",
  "timeout",
  "cancelled",
]);

/** The attempts of one exchange that their providers may bill, whether or not the exchange is charged for them. */
export class BillableAttempts {
  /** What the provider has reported of the last attempt; null if nothing. */
  told: Usage | null = null;
  #earlier = noAttemptCounts;
  #last: Served | null = null;
  #mayBeBilled = false;
  #isAccepted = false;

  failed(
    deployment: Deployment,
    credential: string | null,
    { status, failure, durationMs }: AttemptRecord,
    { wasSent = false, reported = null }: { wasSent?: boolean; reported?: Usage | null } = {},
  ): void {
    const isTaken = status === 200 || (status === null && wasSent && durationMs >= acceptedAfterMs);
    this.#isAccepted = failure === "cancelled" && isTaken;
    this.#begin(deployment, credential, status === 200 || (status === null && lateFailures.has(failure)));
    this.told = reported;
  }

  /** The provider has begun to answer the last attempt, or its client cancelled it after the provider had worked on it. */
  get isAccepted(): boolean {
    return this.#isAccepted;
  }

  answered(deployment: Deployment, credential: string | null): void {
    this.#isAccepted = true;
    this.#begin(deployment, credential, true);
  }

  /** Who was asked last. */
  get served(): Served | undefined {
    return this.#last ?? undefined;
  }

  /** The last one is paid for by the exchange. */
  charged(charge: ChargedAttempt): readonly AttemptCount[] {
    return this.#last === null ? this.#earlier : after(this.#earlier, chargedAttempt(this.#last, charge));
  }

  uncharged(): readonly AttemptCount[] {
    if (this.#last === null || !this.#mayBeBilled) return this.#earlier;
    return after(this.#earlier, unchargedAttempt(this.#last, this.told));
  }

  #begin({ provider, upstreamModel }: Deployment, credential: string | null, mayBeBilled: boolean): void {
    this.#earlier = this.uncharged();
    this.told = null;
    this.#last = {
      provider: provider.settings.name,
      credential: credential ?? "",
      upstreamModel: shownModel(upstreamModel),
    };
    this.#mayBeBilled = mayBeBilled;
  }
}

/** Nearly every exchange has one attempt. */
function after(earlier: readonly AttemptCount[], last: AttemptCount): readonly AttemptCount[] {
  return earlier.length === 0 ? [last] : [...earlier, last];
}
