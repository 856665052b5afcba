import { newId } from "../../base/id.ts";
import { sentence } from "../../base/text/sentence.ts";
import { ConfigError } from "../../config/problems.ts";
import { StoreError } from "../../store/store.ts";
import { OperationError, operationStatuses } from "../context.ts";
import { isLong, jsonStream } from "./json-parts.ts";
import type { ErrorView } from "./shapes.ts";

export class AdminError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    details: { readonly param?: string; readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = details.param;
    this.headers = details.headers ?? {};
  }
}

/** The error for a client that has disconnected; it is not read. */
export function clientGone(): AdminError {
  return new AdminError(499, "cancelled", "The client disconnected.");
}

export function noSignInHere(): AdminError {
  return notFound("sign-in configured here");
}

export function notFound(what: string): AdminError {
  return new AdminError(404, "not_found", `There is no ${what}.`);
}

/** The status of errors that are not the fault of the request itself. */
const storeStatuses: Partial<Record<StoreError["reason"], number>> = {
  unknown_key: 404,
  unknown_account: 404,
  unknown_cap: 404,
  revoked: 409,
  locked: 503,
  disk_full: 503,
};

/** Converts an expected error of an operation or the store; null for any other error. */
export function expectedError(error: unknown): AdminError | null {
  if (error instanceof AdminError) return error;
  if (error instanceof OperationError) {
    return new AdminError(operationStatuses[error.reason], error.reason, sentence(error.message));
  }
  if (error instanceof StoreError) {
    return new AdminError(storeStatuses[error.reason] ?? 400, error.reason, sentence(error.message));
  }
  if (error instanceof ConfigError) return new AdminError(409, "invalid_configuration", error.message);
  return null;
}

/** The headers of a response, including a new request id. */
export function answerHeaders(more: Readonly<Record<string, string>> = {}) {
  return {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "same-origin",
    "x-request-id": newId("req_"),
    ...more,
  };
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  const all = answerHeaders(headers);
  const isWritten = body instanceof Uint8Array;
  if (!isWritten && !isLong(body)) return Response.json(body, { status, headers: all });
  // Bytes were written as JSON off the event loop.
  const written = isWritten ? (body as Uint8Array<ArrayBuffer>) : jsonStream(body);
  return new Response(written, {
    status,
    headers: { "content-type": "application/json;charset=utf-8", ...all },
  });
}

export function refusalResponse(error: AdminError): Response {
  const { code, message, param } = error;
  const body: ErrorView = { error: { code, message, ...(param === undefined ? {} : { param }) } };
  return json(body, error.status, error.headers);
}
