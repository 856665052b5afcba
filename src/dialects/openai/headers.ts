import { type ForwardedHeaders, pickHeaders } from "../headers.ts";

/** Forwarded to providers of OpenAI's dialects. */
const names = ["openai-beta", "x-codex-beta-features", "x-openai-internal-codex-responses-lite"] as const;

export function forwardHeaders(client: Headers): ForwardedHeaders {
  return pickHeaders(names, client);
}

/** A translated request has no headers of the client's dialect. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  for (const name in forwarded) if (!isOurs(name)) return onlyOurs(forwarded);
  return forwarded;
}

function isOurs(name: string): boolean {
  return names.some((ours) => ours === name);
}

function onlyOurs(forwarded: ForwardedHeaders): ForwardedHeaders {
  return Object.fromEntries(Object.entries(forwarded).filter(([name]) => isOurs(name)));
}
