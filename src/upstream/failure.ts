import { type ErrorCode, GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { tookTooLong } from "../base/requests/gateway-endings.ts";
import type { Usage } from "../base/usage/usage.ts";
import { isUnknownModel, isUnpaid } from "../dialects/errors/account-error.ts";
import { readErrorObject } from "../dialects/errors/error-body.ts";
import { FailedResponse, failedResponse, isBilled, reportedFailure } from "../dialects/errors/failure.ts";
import { parseObject } from "../dialects/json/json-fields.ts";
import {
  type ClientDialectName,
  clientDialect,
  type ProviderDialectName,
  providerDialect,
} from "../dialects/registry.ts";
import { explainProviderError } from "../dialects/translation/explain-error.ts";
import type { CredentialUnavailable } from "../vendors/credentials/credential.ts";
import type { ProviderError, ProviderErrorSubject } from "../vendors/provider.ts";
import { certificateProblem } from "../wire/certificate-problem.ts";
import type { FailureKind } from "./failure-kinds.ts";
import type { FailureEvidence } from "./health/breaker.ts";

/** Why an attempt failed, and what follows from that. */
export interface Failure {
  /** The client's error if no other attempt succeeds. */
  readonly error: GatewayError;
  /** Short name for the log. */
  readonly kind: FailureKind;
  /** The client cancelled it when the whole request was already sent. */
  readonly wasSent?: boolean;
  /** Usage that the provider reported before it failed; null or absent if none. */
  readonly reported?: Usage | null;
  /** The provider's own message, secrets removed; null if it gave none. */
  readonly providerMessage: string | null;
  /** Whether another deployment may succeed. */
  readonly mayTryOtherDeployments: boolean;
  /** Can be retried at the same deployment after a delay. */
  readonly mayRetry: boolean;
  /** UsageEvidence about the deployment's health; null if the request is at fault, or the client has disconnected. */
  readonly evidence: FailureEvidence | null;
  /** Set if the provider is overloaded: the pause it requested, 0 if none. */
  readonly coolDownMs: number | null;
  /** Set if the API key was rejected, so that another key of the pool can be tried. */
  readonly keyProblem: "rejected" | "throttled" | null;
  /** Set if the key's quota is used up: the time until it is usable again. */
  readonly quotaResetMs: number | null;
  /** Signatures of earlier reasoning were rejected. The request may be accepted without them. */
  readonly rejectsSignatures: boolean;
  /** The credential has expired, so that a new one can be tried. */
  readonly hasExpired: boolean;
  /** The operator's account, key or configuration is wrong: an alert is raised. */
  readonly alarm: boolean;
}

const neverRetried = {
  providerMessage: null,
  mayTryOtherDeployments: false,
  mayRetry: false,
  evidence: null,
  coolDownMs: null,
  keyProblem: null,
  quotaResetMs: null,
  rejectsSignatures: false,
  hasExpired: false,
  alarm: false,
} as const;
const tryOthers = { ...neverRetried, mayTryOtherDeployments: true, evidence: "provider" } as const;

/** No connection: refused, unknown host, failed TLS handshake, timeout. Nothing was sent, so nothing is billed. */
export function unreachable(cause: unknown): Failure {
  const error = new GatewayError(
    "provider_unavailable",
    "The provider cannot be reached. Retry in a few seconds.",
    { cause },
  );
  const failure = { ...tryOthers, error, evidence: "connection" } as const;
  const certificate = certificateProblem(cause);
  if (certificate === null) return { ...failure, kind: "unreachable", mayRetry: true };
  // A retry cannot help; the operator has to act.
  return { ...failure, kind: certificate.isExpired ? "expired_certificate" : "bad_certificate", alarm: true };
}

/** There is no credential to send, because the host that issues them fails. Nothing was sent to the provider. */
export function withoutCredential(cause: CredentialUnavailable): Failure {
  const message =
    "The gateway has no valid credential for the provider. Retry later, or contact the operator.";
  const error = new GatewayError("provider_unavailable", message, { cause });
  return { ...tryOthers, error, kind: "no_credential", evidence: "connection", alarm: true };
}

/** The connection was closed before a response. */
export function connectionClosed(cause: unknown): Failure {
  const error = new GatewayError("upstream_error", "The provider closed the connection without a response.", {
    cause,
  });
  return { ...tryOthers, error, kind: "connection_closed" };
}

/** The response ended early. None of it has reached the client, but the provider may bill it. */
export function incompleteResponse(cause: unknown): Failure {
  const error = new GatewayError(
    "upstream_error",
    "The provider closed the connection before the response was complete.",
    { cause },
  );
  return { ...tryOthers, error, kind: "incomplete_response" };
}

/** Only Messages has a separate status for timeouts. */
export function timeoutError(dialect: ClientDialectName): GatewayError {
  return new GatewayError(clientDialect(dialect).timeoutCode, tookTooLong);
}

/** Not retried: the provider may still be working on the request, and bill it. */
export function timedOut(dialect: ClientDialectName): Failure {
  return { ...neverRetried, error: timeoutError(dialect), kind: "timeout", evidence: "connection" };
}

/** Not valid HTTP. Never retried: the provider has responded, so it has done the work and bills it. */
export function malformedHttp(cause: unknown): Failure {
  const error = new GatewayError("upstream_error", "The provider sent a malformed HTTP response.", { cause });
  return { ...neverRetried, error, kind: "malformed_http", evidence: "provider" };
}

/** Wrong content type, a redirect, compression, broken JSON. */
export function invalidResponse(problem: string, cause?: unknown): Failure {
  const error = new GatewayError("upstream_error", `The provider sent an invalid response: ${problem}.`, {
    cause,
  });
  return { ...tryOthers, error, kind: "invalid_response" };
}

/**
 * An error with status 200, as the body or as the first frame. Not retried if the provider reports usage for it: that is
 * charged, and the client would pay twice.
 */
export function errorIn200(body: JsonObject, upstreamDialect: ProviderDialectName): Failure {
  const reported = reportedFailure(body, providerDialect(upstreamDialect));
  const providerError = readErrorObject(body);
  const { message: providerMessage, rejectsSignatures = false } = providerError;
  if (reported.code === "context_length_exceeded")
    return { ...neverRetried, error: reported, kind: "context_length", providerMessage };
  const error = blameProvider(reported);
  const evidence = reported.code === "invalid_request" ? null : "provider";
  const failure = { ...tryOthers, error, kind: "error_in_200", providerMessage, evidence } as const;
  if (isBilled(reported)) {
    return {
      ...failure,
      error: new FailedResponse(error, reported.usage, reported.extras),
      mayTryOtherDeployments: false,
    };
  }
  if (isUnpaid(providerError)) return { ...failure, kind: "billing", keyProblem: "rejected", alarm: true };
  return { ...failure, rejectsSignatures, alarm: isUnknownModel(providerError) };
}

/** An overload counts as one with any status. Any other error in a 200 is the provider's, never the client's. */
function blameProvider({ code, message, cause }: GatewayError): GatewayError {
  if (code !== "service_unavailable") return new GatewayError("upstream_error", message, { cause });
  return new GatewayError(code, message, { cause, retryAfterSeconds: 1 });
}

/**
 * A response that the provider reports as failed before any content. A retry may succeed, but is not made if usage was
 * reported.
 */
export function failedResponseFailure(error: GatewayError): Failure {
  const failure = {
    ...tryOthers,
    error,
    kind: "error_response",
    providerMessage: error.message,
    evidence: null,
  } as const;
  return isBilled(error) ? { ...failure, mayTryOtherDeployments: false } : { ...failure, mayRetry: true };
}

/** The client disconnected, or the gateway ended the exchange, before the response. */
export function cancelled(signal: AbortSignal): Failure {
  const reason: unknown = signal.reason;
  const error =
    reason instanceof GatewayError
      ? reason
      : new GatewayError("upstream_error", "The request was cancelled before the provider responded.");
  return { ...neverRetried, error, kind: "cancelled" };
}

/** The request could not be made for this deployment, e.g. not translated. Not the provider's fault. */
export function notSent(error: GatewayError): Failure {
  return { ...neverRetried, error, kind: "not_sent" };
}

/** Any status except 200. If `body` reports usage, which is charged, the request is not retried in any way. */
export function errorStatus(
  status: number,
  providerError: ProviderError,
  dialect: ClientDialectName,
  upstreamDialect: ProviderDialectName,
  body: string,
): Failure {
  const failure = failureForStatus(status, providerError, dialect, upstreamDialect);
  const { usageIn, readExtras } = providerDialect(upstreamDialect);
  const parsed = parseObject(body) ?? {};
  const error = failedResponse(failure.error, usageIn(parsed), readExtras(parsed));
  if (!isBilled(error)) return failure;
  return {
    ...failure,
    error,
    mayTryOtherDeployments: false,
    mayRetry: false,
    rejectsSignatures: false,
    hasExpired: false,
  };
}

/** The usual subject of an error with this status. */
const subjects: Readonly<Record<number, ProviderErrorSubject>> = {
  400: "request",
  401: "expired",
  402: "unpaid",
  403: "credential",
  404: "account",
  413: "request",
  422: "request",
  429: "busy",
  503: "overloaded",
  529: "overloaded",
};

/** The client sees the provider's message only if it is about the client's request. */
function failureForStatus(
  status: number,
  providerError: ProviderError,
  dialect: ClientDialectName,
  upstreamDialect: ProviderDialectName,
): Failure {
  const labels = { kind: `status_${status}`, providerMessage: providerError.message } as const;
  const errorFor = (code: ErrorCode) => {
    const { message, details } = explainProviderError(
      providerError,
      clientDialect(dialect),
      dialect === upstreamDialect,
    );
    return new GatewayError(code, message, details);
  };
  if (status === 404 && isAboutRequest(providerError))
    return { ...neverRetried, ...labels, error: errorFor("not_found") };
  const mayRetry = true;
  switch (providerError.about ?? subjects[status] ?? null) {
    case "request": {
      const code = providerError.contextOverflow ? "context_length_exceeded" : "invalid_request";
      return { ...neverRetried, ...labels, error: errorFor(code) };
    }
    case "signatures":
      return { ...neverRetried, ...labels, error: errorFor("invalid_request"), rejectsSignatures: true };
    case "credential":
      return { ...rejectedGateway(status, providerError), ...labels, keyProblem: "rejected" };
    case "unpaid":
      return {
        ...rejectedGateway(status, providerError),
        ...labels,
        kind: "billing",
        keyProblem: "rejected",
      };
    case "expired":
      return {
        ...rejectedGateway(status, providerError),
        ...labels,
        keyProblem: "rejected",
        hasExpired: true,
      };
    case "account":
      return { ...rejectedGateway(status, providerError), ...labels };
    case "busy":
      return { ...busy(providerError), ...labels, keyProblem: "throttled" };
    case "overloaded":
      return { ...busy(providerError), ...labels };
    case "timeout":
      return { ...timedOut(dialect), ...labels };
    case "failure":
      return { ...tryOthers, ...labels, error: statusError(status, providerError), mayRetry };
    case "passing":
      return { ...tryOthers, ...labels, error: statusError(status, providerError), mayRetry, evidence: null };
    case "generation":
      return { ...tryOthers, ...labels, error: errorFor("upstream_error"), mayRetry, evidence: null };
    case null:
      return unexpectedStatus(status, providerError, labels);
  }
}

/** Something that the request names no longer exists. The client's SDK recovers from this by itself. */
const goneCodes: ReadonlySet<unknown> = new Set(["thread_not_found", "previous_response_not_found"]);

function isAboutRequest({ code, details }: ProviderError): boolean {
  return goneCodes.has(code) || goneCodes.has(details?.["error_code"]);
}

type UnlabelledFailure = Omit<Failure, "kind" | "providerMessage">;

function rejectedGateway(status: number, providerError: ProviderError): UnlabelledFailure {
  const error = new GatewayError(
    "upstream_error",
    "The provider rejected the gateway, not your request. Contact the operator and quote the request id.",
    {
      cause: providerError,
    },
  );
  // Some vendors answer 403 to a prompt that they reject, and 404 to an unknown id in the request.
  const evidence = status === 403 || status === 404 ? "unclear" : "provider";
  return { ...tryOthers, error, evidence, alarm: true };
}

/** llama-server, Ollama, Hugging Face. */
const loading = /^loading model|^llm server loading model|^model .{0,200}?is currently loading/i;

function busy(providerError: ProviderError): UnlabelledFailure {
  const { retryAfterMs, quotaResetMs = null } = providerError;
  const retryAfterSeconds = Math.max(1, Math.ceil((retryAfterMs ?? 1000) / 1000));
  const state = loading.test(providerError.message)
    ? "still loading the model"
    : "overloaded or rate limiting the gateway";
  const message = `The provider is ${state}. Retry in ${retryAfterSeconds} s.`;
  const error = new GatewayError("service_unavailable", message, { retryAfterSeconds, cause: providerError });
  return { ...tryOthers, error, coolDownMs: retryAfterMs ?? 0, quotaResetMs };
}

function statusError(status: number, providerError: ProviderError): GatewayError {
  return new GatewayError("upstream_error", `The provider failed with status ${status}. Retry the request.`, {
    cause: providerError,
  });
}

function unexpectedStatus(
  status: number,
  providerError: ProviderError,
  labels: Pick<Failure, "kind" | "providerMessage">,
): Failure {
  if (status >= 300 && status < 400) return invalidResponse("it is a redirect");
  if (status >= 200 && status < 300) return invalidResponse(`its status is ${status}`);
  const isServerError = status >= 500;
  const evidence = isServerError ? "provider" : status === 408 ? "unclear" : null;
  return {
    ...tryOthers,
    ...labels,
    error: statusError(status, providerError),
    mayRetry: isServerError,
    evidence,
  };
}
