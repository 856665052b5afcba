import { GatewayError } from "../base/errors.ts";

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
