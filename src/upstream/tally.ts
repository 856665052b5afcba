import { GatewayError } from "../base/errors.ts";
import type { Candidate } from "./directory.ts";
import type { Failure } from "./failure.ts";

/** What has been learned while one exchange asked deployment after deployment. */
export class Tally {
  attempts = 0;
  /** How many of the order have had their turn. */
  passed = 0;
  /** Was asked, and is to be asked again at once with another of its keys; a place there is taken. */
  withOtherKey: Candidate | null = null;
  hasWaited = false;
  isRepeated = false;
  /** A failure that no other attempt can mend. */
  final: Failure | null = null;
  /** Failed in a way that a moment may mend. */
  again: Candidate | null = null;
  /** Full; a place may be waited for. */
  busy: Candidate | null = null;
  #last: Failure | null = null;
  #overloaded: Failure | null = null;
  #coolingMs = Number.POSITIVE_INFINITY;

  failed(candidate: Candidate, failure: Failure): void {
    this.#last = failure;
    if (failure.coolDownMs !== null) this.#overloaded ??= failure;
    if (failure.again) this.again ??= candidate;
    if (!failure.elsewhere) this.final = failure;
  }

  /** Passed over, because its provider has asked to be left alone for so long. */
  cooling(waitMs: number): void {
    this.#coolingMs = Math.min(this.#coolingMs, waitMs);
  }

  /** What the client is told. That a provider is busy goes first: it tells the client when to come back. */
  error(): GatewayError {
    if (this.final !== null) return this.final.error;
    if (this.#overloaded !== null) return this.#overloaded.error;
    if (this.#last !== null) return this.#last.error;
    if (this.busy !== null)
      return new GatewayError("service_unavailable", "The model is busy. Please try again.");
    if (this.#coolingMs < Number.POSITIVE_INFINITY) {
      const retryAfterSeconds = Math.max(1, Math.ceil(this.#coolingMs / 1000));
      return new GatewayError("service_unavailable", "The provider is busy. Please try again.", {
        retryAfterSeconds,
      });
    }
    return new GatewayError("provider_unavailable", "No provider of this model is available at the moment.");
  }
}
