import { type ErrorCode, errorKinds } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";

/** When each code is returned (interface, 7.2). */
const conditions: Readonly<Record<ErrorCode, string>> = {
  invalid_credentials:
    "Key missing, malformed, unknown, revoked or suspended, or used on the other mode's origin.",
  key_expired: "Key has expired.",
  key_disabled: "Key disabled, or not entitled to the requested model or its provider.",
  rate_limit_exceeded:
    "Per-key requests-per-minute limit exceeded, or the limit of tokens per minute or of requests in flight.",
  balance_temporarily_reserved:
    "Another in-flight request is temporarily reserving the key's available balance.",
  limit_reached: "The token budget for the period is used up, or a cap.",
  insufficient_credit: "Not enough available credit or tokens to start the request.",
  invalid_request: "Body failed schema validation; `param` names the field.",
  model_not_found: "Model id is not in the catalog.",
  previous_response_not_found: "`previous_response_id` is not a stored response of this key.",
  conversation_locked: "Another request is changing the conversation.",
  invalid_encrypted_content: "An encrypted summary belongs to another key or was modified.",
  invalid_stream_id: "`stream_id` is not a valid name.",
  websocket_stream_limit_reached: "The WebSocket already has the maximum number of streams.",
  websocket_connection_limit_reached: "The WebSocket has reached its maximum duration.",
  context_length_exceeded: "Combined input exceeds the model's context window.",
  idempotency_conflict: "The idempotency key was used with another request.",
  idempotency_in_flight: "The idempotency key duplicates a request that is still in flight.",
  not_found: "Unknown path.",
  method_not_allowed: "The path does not allow this method.",
  upgrade_required: "WebSockets are turned off.",
  provider_unavailable: "Provider temporarily unavailable for this request.",
  upstream_error: "Upstream provider returned an error or an invalid response, or timed out.",
  upstream_timeout: "Provider took too long.",
  service_unavailable: "Transient gateway, provider or rate-limiter failure.",
  internal_error: "Unexpected gateway error.",
};

/** The error responses of an operation, by status, each with the codes that it can carry. */
export function errorResponses(format: ErrorFormat, codes: readonly ErrorCode[]): JsonObject {
  const byStatus = Map.groupBy(codes, (code) => errorKinds[code].status);
  const statuses = [...byStatus.keys()].toSorted((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => [String(status), errorResponse(format, status, byStatus.get(status) ?? [])]),
  );
}

function errorResponse(format: ErrorFormat, status: number, codes: readonly ErrorCode[]): JsonObject {
  const schema = {
    allOf: [
      { $ref: `#/components/schemas/${format.schemaName}` },
      { properties: { error: { properties: { code: { enum: [...codes] } } } } },
    ],
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${conditions[code]}`).join("\n\n"),
    headers: errorHeaders(format, status, codes),
    content: { "application/json": { schema } },
  };
}

function errorHeaders(format: ErrorFormat, status: number, codes: readonly ErrorCode[]): JsonObject {
  const names = [...format.requestIdHeaders];
  if (status === 429 || status === 503) names.push("Retry-After");
  if (codes.some((code) => errorKinds[code].shouldRetry === false)) names.push("x-should-retry");
  return headerReferences(names);
}

export function headerReferences(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
