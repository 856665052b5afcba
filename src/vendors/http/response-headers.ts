import { type ForwardedHeaders, pickHeaders } from "../../dialects/headers.ts";
import type { Head } from "../../wire/transfer.ts";

/**
 * Headers that are useful to clients and reveal nothing about the operator's account. All others are dropped: cookies,
 * account names, keys and the account's rate limits.
 */
const responseNames = [
  "openai-model",
  "openai-processing-ms",
  "openai-version",
  "x-codex-turn-state",
] as const;

/** The provider's headers that are returned to the client. */
export function pickResponse(provider: Pick<Head, "get">): ForwardedHeaders {
  return pickHeaders(responseNames, provider);
}
