import type { ResponseScope, StoredResponse } from "../store/store.ts";

export interface ClaimRequest extends ResponseScope {
  /** SHA-256 of the body's raw bytes, hex. */
  readonly bodyHash: string;
}

/** The right to run a request; `Idempotency.end` gives it back. */
export interface Claim extends ClaimRequest {
  /** Settled as soon as it is known whether there is a stored response. */
  readonly lookup: Promise<void>;
  readonly isRunning: boolean;
}

export type ClaimResult =
  | { readonly kind: "run"; readonly claim: Claim }
  | { readonly kind: "replay"; readonly response: StoredResponse };
