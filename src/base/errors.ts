import type { JsonObject } from "./json.ts";
import type { StepDown } from "./money/bound.ts";

/**
 * Every error that a client can get, in one table: its status, its Format A type, and whether the official SDKs
 * should retry it. Both envelopes are rendered from it (dialects/errors/envelope.ts).
 */
interface ErrorKind {
  readonly status: number;
  readonly type: string;
  /** `false` is sent as `x-should-retry: false`, because the SDKs would otherwise retry a 409 or a 429. */
  readonly shouldRetry?: false;
}

const kinds = {
  invalid_credentials: { status: 401, type: "authentication_error", shouldRetry: false },
  key_expired: { status: 403, type: "permission_error", shouldRetry: false },
  key_disabled: { status: 403, type: "permission_error", shouldRetry: false },
  rate_limit_exceeded: { status: 429, type: "rate_limit_error" },
  balance_temporarily_reserved: { status: 429, type: "rate_limit_error" },
  limit_reached: { status: 429, type: "quota_error", shouldRetry: false },
  insufficient_credit: { status: 402, type: "quota_error", shouldRetry: false },
  invalid_request: { status: 400, type: "invalid_request_error" },
  model_not_found: { status: 404, type: "invalid_request_error" },
  previous_response_not_found: { status: 400, type: "invalid_request_error" },
  conversation_locked: { status: 400, type: "invalid_request_error" },
  invalid_encrypted_content: { status: 400, type: "invalid_request_error" },
  invalid_stream_id: { status: 400, type: "invalid_request_error" },
  websocket_stream_limit_reached: { status: 400, type: "invalid_request_error" },
  websocket_connection_limit_reached: { status: 400, type: "invalid_request_error" },
  context_length_exceeded: { status: 400, type: "invalid_request_error" },
  idempotency_conflict: { status: 409, type: "invalid_request_error", shouldRetry: false },
  idempotency_in_flight: { status: 409, type: "invalid_request_error" },
  not_found: { status: 404, type: "invalid_request_error" },
  method_not_allowed: { status: 405, type: "invalid_request_error" },
  upgrade_required: { status: 426, type: "invalid_request_error" },
  provider_unavailable: { status: 502, type: "api_error" },
  upstream_error: { status: 502, type: "api_error" },
  upstream_timeout: { status: 504, type: "api_error" },
  service_unavailable: { status: 503, type: "api_error" },
  internal_error: { status: 500, type: "api_error" },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof kinds;

export type ErrorStatus = (typeof kinds)[ErrorCode]["status"];

export const errorKinds: Readonly<Record<ErrorCode, ErrorKind & { readonly status: ErrorStatus }>> = kinds;

/** The parts of an error, beyond its type, that a vendor's SDK acts on, in the vendor's own terms. */
export interface VendorError {
  /** OpenAI's `code`, such as `invalid_encrypted_content`. */
  readonly code?: string | undefined;
  /** Anthropic's `details`, such as `{ "error_code": "thread_not_found" }`. */
  readonly details?: JsonObject | undefined;
}

export interface DeniedHold {
  /** As in `error.details.bound`. */
  readonly bound: string;
  /** Nano-credits or tokens. */
  readonly needed: number;
  /** Set if every limit that denies the hold lets the request run on another model. */
  readonly stepDown?: StepDown | undefined;
}

export interface ErrorDetails {
  /** The failing field as a path, such as `messages[0].role`. */
  readonly param?: string | undefined;
  /** Whole seconds; 429 and 503 always carry one, 1 when nothing better is known. */
  readonly retryAfterSeconds?: number | undefined;
  /** Sent to the client with the error. */
  readonly vendor?: VendorError | undefined;
  /** Kept for the operator: the limit that denied a hold, and the requested amount. */
  readonly denied?: DeniedHold | undefined;
  /** The cause, which an operator needs to know and a client must not see: goes to the log, never into a response. */
  readonly cause?: unknown;
}

/** An error with a public message. Any other error reaches the client as a bare `internal_error`. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly vendor: VendorError | undefined;
  readonly denied: DeniedHold | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(shortened(message), details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "GatewayError";
    this.code = code;
    this.param = details.param && shortened(details.param);
    this.vendor = details.vendor;
    this.denied = details.denied;
    const mustSayWhen = kinds[code].status === 429 || kinds[code].status === 503;
    this.retryAfterSeconds = details.retryAfterSeconds ?? (mustSayWhen ? 1 : undefined);
  }

  get status(): ErrorStatus {
    return kinds[this.code].status;
  }

  /** Keeps everything but the words. */
  reworded(message: string, param = this.param): GatewayError {
    return new GatewayError(this.code, message, { ...this, param, cause: this.cause });
  }
}

/** A provider's own message is shorter. */
const maxTextLength = 2400;

/** Shortens names and ids that come from the client, which may have megabytes. The advice is at the end of the message. */
export function shortened(text: string): string {
  if (text.length <= maxTextLength) return text;
  const plain = text.replace(/\S{200,}/g, (word) => `${word.slice(0, 100)}…${word.slice(-3)}`);
  if (plain.length <= maxTextLength) return plain;
  return `${plain.slice(0, maxTextLength / 2)}…${plain.slice(1 - maxTextLength / 2)}`;
}

export function invalidRequest(message: string, param?: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}
