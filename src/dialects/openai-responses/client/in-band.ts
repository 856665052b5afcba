import type { ErrorCode, GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { StreamPosition } from "../../client-dialect.ts";
import { keepaliveComment } from "../../sse/frame.ts";

/** Codex ignores an `error` event and reconnects, so the failure is a response; then the end marker. */
export function inBandError(error: GatewayError, _requestId: string, position: StreamPosition): string {
  const event: JsonObject = {
    type: "response.failed",
    sequence_number: position.sequenceNumber,
    response: {
      id: position.responseId,
      object: "response",
      created_at: position.createdAtSeconds,
      status: "failed",
      error: { code: responsesErrorCode(error.code), message: error.message },
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      metadata: {},
      model: position.model,
      output: [],
      parallel_tool_calls: true,
      previous_response_id: null,
      store: false,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      usage: null,
    },
  };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
}

const responsesCodes: Readonly<Partial<Record<ErrorCode, string>>> = {
  context_length_exceeded: "context_length_exceeded",
  insufficient_credit: "insufficient_quota",
  limit_reached: "insufficient_quota",
  rate_limit_exceeded: "rate_limit_exceeded",
  service_unavailable: "server_is_overloaded",
  invalid_request: "invalid_prompt",
};

/** The words by which Codex decides whether to try again. */
export function responsesErrorCode(code: ErrorCode): string {
  return responsesCodes[code] ?? "server_error";
}

export function heartbeat(hasBegun: boolean, sequenceNumber: number): string {
  if (!hasBegun) return keepaliveComment;
  return `event: keepalive\ndata: {"type":"keepalive","sequence_number":${sequenceNumber}}\n\n`;
}
