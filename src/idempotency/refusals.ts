import { GatewayError } from "../base/errors.ts";

export function inFlight(): GatewayError {
  return new GatewayError(
    "idempotency_in_flight",
    "A request with this Idempotency-Key is still running. Retry when it has ended.",
  );
}

export function notKept(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "The request with this Idempotency-Key was answered and charged, but there was no room to keep the response for a retry. Use a new key to run it, and pay for it, again.",
  );
}

export function conflict(): GatewayError {
  return new GatewayError(
    "idempotency_conflict",
    "This Idempotency-Key was used with another request body. Use a new one for a new request.",
  );
}
