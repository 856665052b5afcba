import type { TSchema } from "@sinclair/typebox";
import { errorKinds, type GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { RateLimitForm } from "./rate-limits.ts";

/** How a vendor's clients expect errors, and what comes with every response. */
export interface ErrorFormat {
  /** What the interface's document calls the format, and its envelope. */
  readonly title: string;
  readonly schemaName: string;
  readonly schema: TSchema;
  /** What is served, for errors of unknown paths; absent if a path has one method of its own. */
  readonly served?: string;
  /** The names under which clients read the request's id. */
  readonly requestIdHeaders: readonly string[];
  /** The names under which clients read rate limits. */
  readonly rateLimits: RateLimitForm;
  body(error: GatewayError, requestId: string): JsonObject;
  /** Wording by which clients know that they have to send the conversation without its reasoning. Absent if they go by the code. */
  readonly invalidSignature?: string;
  /** The form that the vendor's coding agent needs, if the caller is one. Absent if none needs another form. */
  forAgent?(rendered: RenderedError, error: GatewayError, caller: AgentCaller): RenderedError;
}

/** By what a coding agent is recognized. */
export interface AgentCaller {
  /** It was called with the token of a sign-in. */
  readonly isSignIn: boolean;
  /** The name that Codex sends. */
  readonly originator: string | null;
}

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
  for (const name of format.requestIdHeaders) headers[name] = requestId;
  if (error.retryAfterSeconds !== undefined) headers["retry-after"] = String(error.retryAfterSeconds);
  if (errorKinds[error.code].shouldRetry === false) headers["x-should-retry"] = "false";
  return { status: error.status, headers, body: JSON.stringify(format.body(error, requestId)) };
}

export function detailsOf({ vendor }: GatewayError): JsonObject {
  return vendor?.details === undefined ? {} : { details: vendor.details };
}
