import { type ForwardedHeaders, pickHeaders } from "../../dialects/headers.ts";
import type { Head } from "../../wire/transfer.ts";

/**
 * Helpful to clients and silent about the account behind the gateway. Everything else stays behind: cookies,
 * account names, keys and the rate limits of the operator's own account never come back.
 */
const responseNames = [
  "openai-model",
  "openai-processing-ms",
  "openai-version",
  "x-codex-turn-state",
] as const;

/** Picks what comes back. */
export function pickResponse(provider: Pick<Head, "get">): ForwardedHeaders {
  return pickHeaders(responseNames, provider);
}
