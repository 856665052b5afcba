import { type ErrorStatus, errorKinds, type GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { readTokenLimit } from "./error-body.ts";

/** The vendor whose error envelope is used. */
export type ErrorFormat = "openai" | "anthropic";

/** The names under which a format's clients read the request's id. */
export const requestIdHeaders: Readonly<Record<ErrorFormat, readonly string[]>> = {
  openai: ["x-request-id"],
  anthropic: ["x-request-id", "request-id"],
};

export interface RenderedError {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An error response, for when nothing has been sent yet. */
export function renderError(format: ErrorFormat, error: GatewayError, requestId: string): RenderedError {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "cache-control": "no-store",
  };
  for (const name of requestIdHeaders[format]) headers[name] = requestId;
  if (error.retryAfterSeconds !== undefined) headers["retry-after"] = String(error.retryAfterSeconds);
  if (errorKinds[error.code].shouldRetry === false) headers["x-should-retry"] = "false";
  return { status: error.status, headers, body: JSON.stringify(errorBody(format, error, requestId)) };
}

export function errorBody(format: ErrorFormat, error: GatewayError, requestId: string): JsonObject {
  if (format === "openai") {
    return {
      error: {
        message: error.message,
        type: errorKinds[error.code].type,
        code: error.vendor?.code ?? error.code,
        param: error.param ?? null,
        ...detailsOf(error),
        request_id: requestId,
      },
    };
  }
  return {
    type: "error",
    error: {
      type: messagesErrorTypes[error.status],
      message: messagesText(error),
      ...detailsOf(error),
      code: error.vendor?.code ?? error.code,
      request_id: requestId,
    },
    request_id: requestId,
  };
}

function detailsOf({ vendor }: GatewayError): JsonObject {
  return vendor?.details === undefined ? {} : { details: vendor.details };
}

const messagesErrorTypes: Readonly<Record<ErrorStatus, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  405: "invalid_request_error",
  409: "invalid_request_error",
  426: "invalid_request_error",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
};

/** Anthropic's clients match this phrase and the two numbers to shorten the conversation automatically. */
function messagesText(error: GatewayError): string {
  if (error.code !== "context_length_exceeded" || error.message.startsWith("prompt is too long")) {
    return error.message;
  }
  const limit = readTokenLimit(error.message);
  return limit === null
    ? `prompt is too long: ${error.message}`
    : `prompt is too long: ${limit.needed} tokens > ${limit.maximum} maximum`;
}
