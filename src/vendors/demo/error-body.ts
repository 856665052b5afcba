import type { JsonObject } from "../../base/json.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import type { DemoRefusal } from "./refusal.ts";

export type DemoError = Pick<DemoRefusal, "message"> & Partial<DemoRefusal>;

/** An error as the dialect's vendor writes it, for any status that a text may ask for. */
export function errorBodyOf(
  format: ErrorFormat,
  status: number,
  { message, param, code }: DemoError,
): JsonObject {
  if (format === "anthropic") return { type: "error", error: { type: anthropicTypeOf(status), message } };
  const type = status < 500 ? "invalid_request_error" : "server_error";
  return { error: { message, type, param: param ?? null, code: code ?? null } };
}

const anthropicTypes: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  504: "timeout_error",
  529: "overloaded_error",
};

function anthropicTypeOf(status: number): string {
  return anthropicTypes[status] ?? (status < 500 ? "invalid_request_error" : "api_error");
}
