import { GatewayError } from "../base/errors.ts";
import type { ReserveMemory, ResponseScope, StoredResponse } from "../store/store.ts";
import type { ResponseRecorder } from "./recorder.ts";

export interface ClaimRequest extends ResponseScope {
  /** SHA-256 of the body's raw bytes, hex. */
  readonly bodyHash: string;
  /** The request that holds the claim. */
  readonly exchangeId: string;
}

/** The right to run a request. `Claims.end` releases it. */
export type Claim = ClaimRequest;

export type ClaimResult =
  | { readonly kind: "run"; readonly claim: Claim }
  | { readonly kind: "replay"; readonly response: StoredResponse };

/**
 * Keeps a request from being run twice. A successful response is stored in the transaction that charges for it, so
 * after a crash both exist or neither.
 */
export interface Claims {
  /** Claims of this process that have not ended. */
  readonly running: number;

  /** Rejects with `idempotency_in_flight`, `idempotency_conflict` or `service_unavailable`. */
  claim(request: ClaimRequest, reserve?: ReserveMemory): Promise<ClaimResult>;

  /**
   * Records the response of a claim while it is relayed; the settle that receives it stores it. `maxBytes` is the
   * key's whole storage allowance. Beyond half of it, Sluice stores only the fact that there was a response.
   */
  record(claim: Claim, maxBytes: number): ResponseRecorder;

  /**
   * Records the result of a line of a batch. It is no response for retries: it counts toward no allowance, and stays this much
   * longer, until its batch is deleted.
   */
  recordResult(claim: Claim, longerMs: number): ResponseRecorder;

  /** Bytes known to be stored for retries of this key's requests. */
  keptBytes(keyId: string): number;

  /**
   * Called when the request is over: a retry replays its response if it was stored, and runs again otherwise. Ending a
   * claim twice must not end a later claim with the same name. Returns a promise if other gateways have to learn of it;
   * it never rejects.
   */
  end(claim: Claim): Promise<void> | undefined;

  /** Deletes responses that are too old to be replayed. Returns their number. */
  prune(): Promise<number>;
}

export function inFlight(): GatewayError {
  return new GatewayError(
    "idempotency_in_flight",
    "A request with this Idempotency-Key is still running. Retry when it finishes.",
  );
}

export function notKept(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "This request succeeded and was charged, but the gateway had no room to store its response for replay. To run and pay for it again, use a new Idempotency-Key.",
  );
}

export function conflict(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "This Idempotency-Key was used with another request body. Use a new key for a new request.",
  );
}
