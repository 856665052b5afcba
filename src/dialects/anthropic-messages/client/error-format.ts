import { Type } from "@sinclair/typebox";
import type { ErrorStatus, GatewayError } from "../../../base/errors.ts";
import { isObject } from "../../../base/json.ts";
import { detailsOf, type ErrorFormat, type RenderedError } from "../../errors/envelope.ts";
import { readTokenLimit } from "../../errors/error-body.ts";
import { anthropicLimits } from "../../errors/rate-limits.ts";

/** Interface 7.1. The envelope allows extra fields. */
const schema = Type.Object({
  type: Type.Literal("error"),
  error: Type.Object({
    type: Type.String(),
    message: Type.String(),
    code: Type.Optional(Type.String({ description: "The same codes as in Format A." })),
    request_id: Type.Optional(Type.String()),
  }),
  request_id: Type.Optional(Type.String()),
});

export const anthropicErrors: ErrorFormat = {
  title: "Format B",
  schemaName: "ErrorEnvelopeB",
  schema,
  requestIdHeaders: ["x-request-id", "request-id"],
  rateLimits: anthropicLimits,
  body: (error, requestId) => ({
    type: "error",
    error: {
      type: errorTypes[error.status],
      message: messageOf(error),
      ...detailsOf(error),
      code: error.vendor?.code ?? error.code,
      request_id: requestId,
    },
    request_id: requestId,
  }),
  invalidSignature: "Invalid `signature` in `thinking` block",
  forAgent: (rendered, error, { isSignIn }) =>
    isSignIn && error.code === "limit_reached" ? asSpendLimit(rendered, error) : rendered,
};

const errorTypes: Readonly<Record<ErrorStatus, string>> = {
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
function messageOf(error: GatewayError): string {
  if (error.code !== "context_length_exceeded" || error.message.startsWith("prompt is too long")) {
    return error.message;
  }
  const limit = readTokenLimit(error.message);
  return limit === null
    ? `prompt is too long: ${error.message}`
    : `prompt is too long: ${limit.needed} tokens > ${limit.maximum} maximum`;
}

const prefix = "anthropic-ratelimit-unified-";
const periods: Readonly<Record<string, string>> = { day: "daily", week: "weekly", month: "monthly" };

/**
 * A used-up limit in the form that Claude Code shows as it is. Without these headers it says "Server is temporarily
 * limiting requests (not your usage limit)" before our message. `representative-claim` and `overage-status` must be absent.
 */
function asSpendLimit(rendered: RenderedError, error: GatewayError): RenderedError {
  const details = error.vendor?.details ?? {};
  const resetMs = Date.parse(String(details["resets_at"]));
  const period = periods[String(details["period"])];
  const reset = String(Math.ceil(resetMs / 1000));
  const body: unknown = JSON.parse(rendered.body);
  if (isObject(body) && isObject(body["error"])) body["error"] = { ...body["error"], type: "billing_error" };
  return {
    ...rendered,
    headers: {
      ...rendered.headers,
      [`${prefix}status`]: "rejected",
      ...(Number.isNaN(resetMs) ? {} : { [`${prefix}reset`]: reset, [`${prefix}overage-reset`]: reset }),
      [`${prefix}overage-utilization`]: "1",
      [`${prefix}overage-surpassed-threshold`]: "1",
      ...(period === undefined ? {} : { [`${prefix}overage-period`]: period }),
      [`${prefix}overage-disabled-reason`]: "org_spend_cap_reached",
    },
    body: JSON.stringify(body),
  };
}
