import { type ForwardedHeaders, pickHeaders } from "../headers.ts";

/** Forwarded to providers of OpenAI's dialects. */
const names = ["openai-beta", "x-codex-beta-features", "x-openai-internal-codex-responses-lite"] as const;

export function forwardHeaders(client: Headers): ForwardedHeaders {
  return pickHeaders(names, client);
}

/** Without another dialect's headers, which a translated request may have. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  return pickHeaders(names, { get: (name) => forwarded[name] ?? null });
}
