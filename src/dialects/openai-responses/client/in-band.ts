import { type ErrorCode, errorKinds, type GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { StreamPosition } from "../../client-dialect.ts";
import { keepaliveComment } from "../../sse/sse.ts";
import { requestEcho, responseHead } from "./envelope-out.ts";

/**
 * Codex ignores an `error` event and reconnects, so the failure is sent as a response, then the end marker. What the client
 * asked for is not known any more where bytes pass through; the fields that would repeat it have their defaults.
 */
export function inBandError(error: GatewayError, _requestId: string, position: StreamPosition): string {
  const head = responseHead(position.responseId, position.createdAtSeconds, {
    status: "failed",
    completedAtSeconds: null,
    incomplete: null,
    error: responseError(error),
    usage: position.usage,
    serviceTier: null,
  });
  const event: JsonObject = {
    type: "response.failed",
    sequence_number: position.sequenceNumber,
    response: { ...head, output: [], ...requestEcho({}, position.model) },
  };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
}

/** The `error` of a response that has failed. */
export function responseError(error: GatewayError): JsonObject {
  return {
    code: error.vendor?.code ?? responsesErrorCodes[error.code] ?? "server_error",
    message: error.message,
    type: errorKinds[error.code].type,
    param: error.param ?? null,
  };
}

/** By these Codex decides whether to try again. All other errors are the server's. */
const responsesErrorCodes: { readonly [Code in ErrorCode]?: string } = {
  rate_limit_exceeded: "rate_limit_exceeded",
  limit_reached: "insufficient_quota",
  insufficient_credit: "insufficient_quota",
  invalid_request: "invalid_prompt",
  previous_response_not_found: "previous_response_not_found",
  conversation_locked: "conversation_locked",
  invalid_encrypted_content: "invalid_encrypted_content",
  invalid_stream_id: "invalid_prompt",
  websocket_stream_limit_reached: "invalid_prompt",
  websocket_connection_limit_reached: "invalid_prompt",
  context_length_exceeded: "context_length_exceeded",
  service_unavailable: "server_is_overloaded",
};

export function heartbeat(hasBegun: boolean, sequenceNumber: number): string {
  if (!hasBegun) return keepaliveComment;
  return `event: keepalive\ndata: {"type":"keepalive","sequence_number":${sequenceNumber}}\n\n`;
}
