import type { DialectName, ErrorFormat } from "../../base/dialect.ts";
import { errorFormatOf } from "../../base/dialect.ts";
import { type ErrorCode, errorKinds, type GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import { readTokenLimit } from "./refusal.ts";

export interface RenderedError {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An error before anything else was sent, complete with the headers that it needs. */
export function renderError(format: ErrorFormat, error: GatewayError, requestId: string): RenderedError {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "cache-control": "no-store",
    "x-request-id": requestId,
  };
  if (format === "B") headers["request-id"] = requestId;
  if (error.retryAfterSeconds !== undefined) headers["retry-after"] = String(error.retryAfterSeconds);
  if (errorKinds[error.code].shouldRetry === false) headers["x-should-retry"] = "false";
  return { status: error.status, headers, body: JSON.stringify(errorBody(format, error, requestId)) };
}

function errorBody(format: ErrorFormat, error: GatewayError, requestId: string): JsonObject {
  if (format === "A") {
    return {
      error: {
        message: error.message,
        type: errorKinds[error.code].type,
        code: error.code,
        param: error.param ?? null,
        request_id: requestId,
      },
    };
  }
  return {
    type: "error",
    error: {
      type: messagesErrorType(error.status),
      message: messagesText(error),
      code: error.code,
      request_id: requestId,
    },
    request_id: requestId,
  };
}

const typesByStatus: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  429: "rate_limit_error",
  500: "api_error",
  502: "api_error",
  503: "overloaded_error",
  504: "timeout_error",
};

function messagesErrorType(status: number): string {
  return typesByStatus[status] ?? "invalid_request_error";
}

/** Native clients look for these words, and for the two numbers, to shorten the conversation by themselves. */
function messagesText(error: GatewayError): string {
  if (error.code !== "context_length_exceeded" || error.message.startsWith("prompt is too long")) {
    return error.message;
  }
  const limit = readTokenLimit(error.message);
  return limit === null
    ? `prompt is too long: ${error.message}`
    : `prompt is too long: ${limit.needed} tokens > ${limit.maximum} maximum`;
}

/** What is known of a Responses stream that is cut short; its client wants the same id and the next number. */
export interface ResponsesPosition {
  readonly sequenceNumber: number;
  readonly responseId: string;
  readonly model: string;
  readonly createdAtSeconds: number;
}

const unknownPosition: ResponsesPosition = {
  sequenceNumber: 0,
  responseId: "resp_failed",
  model: "",
  createdAtSeconds: 0,
};

/** An error after the stream has begun. None of them looks like a proper end. */
export function inBandError(
  dialect: DialectName,
  error: GatewayError,
  requestId: string,
  position: ResponsesPosition = unknownPosition,
): string {
  if (dialect === "responses") return responsesFailure(error, position);
  const data = JSON.stringify(errorBody(errorFormatOf(dialect), error, requestId));
  return dialect === "chat" ? `data: ${data}\n\n` : `event: error\ndata: ${data}\n\n`;
}

/** Codex ignores an `error` event and reconnects, so the failure is a response; then the end marker. */
function responsesFailure(error: GatewayError, position: ResponsesPosition): string {
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

/**
 * Shows life while the provider is silent. Before a stream's first event only a comment is legal; after it,
 * clients count events, not comments, against their idle timers.
 */
export function heartbeat(dialect: DialectName, begun: boolean, sequenceNumber = 0): string {
  if (!begun || dialect === "chat") return ": keepalive\n\n";
  if (dialect === "messages") return 'event: ping\ndata: {"type":"ping"}\n\n';
  return `event: keepalive\ndata: {"type":"keepalive","sequence_number":${sequenceNumber}}\n\n`;
}
