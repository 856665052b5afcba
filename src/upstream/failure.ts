import { GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { reportedFailure } from "../dialects/errors/failure.ts";
import { readErrorObject } from "../dialects/errors/refusal.ts";
import { type ClientDialectName, clientDialect } from "../dialects/registry.ts";

import type { VendorRefusal } from "../vendors/provider.ts";
import type { Evidence } from "./breaker.ts";

/** Why an attempt gave no answer, and what follows from that. */
export interface Failure {
  /** What the client is told if no other attempt helps. */
  readonly error: GatewayError;
  /** One word for the log. */
  readonly kind: string;
  /** The provider's own message, secrets removed; null if it gave none. */
  readonly said: string | null;
  /** Another deployment may do better. */
  readonly elsewhere: boolean;
  /** The same deployment may do better a moment later. */
  readonly again: boolean;
  /** What it says about the deployment; null where the request is wrong by itself, or the client has left. */
  readonly evidence: Evidence | null;
  /** The provider asked to be left alone; 0 when it did not say for how long. */
  readonly coolDownMs: number | null;
  /** It is about the credential, so another key of the pool may do better. */
  readonly key: "rejected" | "throttled" | null;
  /** Somebody has to look: the operator's account, key or configuration is wrong. */
  readonly alarm: boolean;
}

const quiet = {
  said: null,
  elsewhere: false,
  again: false,
  evidence: null,
  coolDownMs: null,
  key: null,
  alarm: false,
} as const;
const elsewhere = { ...quiet, elsewhere: true, evidence: "provider" } as const;

/** No connection: refused, no such host, no TLS, nobody there. Nothing was sent, so nothing can be billed. */
export function unreachable(cause: unknown): Failure {
  const error = new GatewayError("provider_unavailable", "The provider cannot be reached.", { cause });
  return { ...elsewhere, error, kind: "unreachable", again: true, evidence: "connection" };
}

/** The connection was there and went away before an answer. */
export function hungUp(cause: unknown): Failure {
  const error = new GatewayError("upstream_error", "The provider closed the connection without an answer.", {
    cause,
  });
  return { ...elsewhere, error, kind: "hung_up" };
}

/** It had begun to answer. Nothing of that has reached the client, but the provider may bill it. */
export function brokenOff(cause: unknown): Failure {
  const error = new GatewayError("upstream_error", "The provider's answer broke off.", { cause });
  return { ...elsewhere, error, kind: "broken_off" };
}

/** Messages has a status for it, the others have not. */
export function timeoutError(dialect: ClientDialectName): GatewayError {
  return new GatewayError(clientDialect(dialect).timeoutCode, "The provider took too long to answer.");
}

/** No second attempt: the provider may be at work on this one, and bill it. */
export function tooSlow(dialect: ClientDialectName): Failure {
  return { ...quiet, error: timeoutError(dialect), kind: "timeout", evidence: "connection" };
}

/** Not HTTP. No second attempt, here or elsewhere: the provider has answered, so it has done the work and bills it. */
export function malformed(cause: unknown): Failure {
  const error = new GatewayError("upstream_error", "The provider's answer is malformed.", { cause });
  return { ...quiet, error, kind: "malformed", evidence: "provider" };
}

/** An answer that is none: wrong content type, a redirect, compression, broken JSON. */
export function unusable(what: string): Failure {
  const error = new GatewayError("upstream_error", `The provider's answer cannot be used: ${what}.`);
  return { ...elsewhere, error, kind: "nonsense" };
}

/** An error that came with status 200, as the body or as the first frame. */
export function errorWithin(body: JsonObject): Failure {
  const told = reportedFailure(body);
  const said = readErrorObject(body).message;
  if (told.code === "context_length_exceeded") return { ...quiet, error: told, kind: "overflow", said };
  const error = new GatewayError("upstream_error", told.message, { cause: told.cause });
  const evidence = told.code === "invalid_request" ? null : "provider";
  return { ...elsewhere, error, kind: "error_in_200", said, evidence };
}

/** The exchange is over before its answer: the client has left, or the gateway has ended it. */
export function cancelled(signal: AbortSignal): Failure {
  const reason: unknown = signal.reason;
  const error =
    reason instanceof GatewayError
      ? reason
      : new GatewayError("upstream_error", "The call was ended before the provider answered.");
  return { ...quiet, error, kind: "cancelled" };
}

/** A prepared request could not be made for this deployment; that is nobody's fault out there. */
export function unprepared(error: GatewayError): Failure {
  return { ...quiet, error, kind: "unprepared" };
}

/** Any status but 200. The words are the provider's own only where they are about the client's request. */
export function refused(status: number, refusal: VendorRefusal): Failure {
  const { retryAfterMs, message: said } = refusal;
  switch (status) {
    case 400:
    case 413:
    case 422: {
      const code = refusal.contextOverflow ? "context_length_exceeded" : "invalid_request";
      return { ...quiet, error: new GatewayError(code, said), kind: `status_${status}`, said };
    }
    case 401:
    case 402:
    case 403:
    case 404: {
      const error = new GatewayError("upstream_error", "The provider refused the gateway's request.", {
        cause: refusal,
      });
      const key = status === 404 ? null : "rejected";
      // Some vendors answer 403 to a prompt they do not like, and 404 to an id in the request.
      const evidence = status === 403 || status === 404 ? "unclear" : "provider";
      return { ...elsewhere, error, kind: `status_${status}`, said, key, evidence, alarm: true };
    }
    case 429:
    case 503:
    case 529: {
      const error = new GatewayError("service_unavailable", "The provider is busy. Please try again.", {
        retryAfterSeconds: Math.max(1, Math.ceil((retryAfterMs ?? 1000) / 1000)),
        cause: refusal,
      });
      const key = status === 429 ? "throttled" : null;
      return { ...elsewhere, error, kind: `status_${status}`, said, coolDownMs: retryAfterMs ?? 0, key };
    }
    default:
      return unexpectedStatus(status, refusal);
  }
}

function unexpectedStatus(status: number, refusal: VendorRefusal): Failure {
  if (status >= 300 && status < 400) return unusable("it is a redirect");
  if (status >= 200 && status < 300) return unusable(`its status is ${status}`);
  const error = new GatewayError("upstream_error", `The provider failed with status ${status}.`, {
    cause: refusal,
  });
  const isServers = status >= 500;
  const evidence = isServers ? "provider" : status === 408 ? "unclear" : null;
  return {
    ...elsewhere,
    error,
    kind: `status_${status}`,
    said: refusal.message,
    again: isServers,
    evidence,
  };
}
