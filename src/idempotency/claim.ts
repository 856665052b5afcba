import type { ResponseScope, StoredResponse } from "../store/store.ts";

export interface ClaimRequest extends ResponseScope {
  /** SHA-256 of the body's raw bytes, hex. */
  readonly bodyHash: string;
  /** Who claims it. */
  readonly exchangeId: string;
}

/** The right to run a request; `Claims.end` gives it back. */
export type Claim = ClaimRequest;

export type ClaimResult =
  | { readonly kind: "run"; readonly claim: Claim }
  | { readonly kind: "replay"; readonly response: StoredResponse };
