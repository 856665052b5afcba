import { type ErrorCode, GatewayError } from "../../base/errors.ts";
import { internalError } from "../../base/requests/gateway-endings.ts";
import { withoutSecrets } from "../../base/secrets/secrets.ts";
import { StoreError } from "../../store/store.ts";

const maxMessageChars = 500;

/** A database that is unreachable or full becomes a 503, so that the client retries. Any other error is returned unchanged. */
export function withoutStore(thrown: unknown): unknown {
  if (!(thrown instanceof StoreError)) return thrown;
  if (thrown.reason === "disk_full") return noDiskSpace(thrown);
  if (thrown.reason !== "unreachable") return thrown;
  return new GatewayError(
    "service_unavailable",
    "The gateway cannot reach its database. Retry in a few seconds.",
    { retryAfterSeconds: 5, cause: thrown },
  );
}

export function noDiskSpace(cause?: unknown): GatewayError {
  const message = "The gateway has no disk space left to store this. Retry later.";
  return new GatewayError("service_unavailable", message, { retryAfterSeconds: 60, cause });
}

/** The error to show to the client. Anything unexpected becomes an internal error. */
export function publicErrorOf(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError("internal_error", internalError, { cause: error });
}

/** The message that the client saw; may quote the provider. */
export function publicMessage(error: unknown): string {
  if (!(error instanceof GatewayError)) return internalError;
  return withoutSecrets(error.message).slice(0, maxMessageChars).toWellFormed();
}

export function errorCode(error: unknown): ErrorCode {
  return error instanceof GatewayError ? error.code : "internal_error";
}

/**
 * Details of an error for the log, beyond its code: the stack of an unexpected error, the kind of an expected cause.
 * Messages of expected causes are omitted, because parsers quote their input.
 */
export function describeCause(error: unknown): string | null {
  if (!(error instanceof GatewayError)) return stackOf(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return null;
  if (error.code === "internal_error") return stackOf(cause);
  return "code" in cause ? `${cause.name} ${String(cause.code)}` : cause.name;
}

/** The runtime's own errors, e.g. for an incomplete body, have an empty stack. */
function stackOf(error: unknown): string {
  return (error instanceof Error && error.stack) || String(error);
}
