import { type ForwardedHeaders, isSendable, pickHeaders } from "../headers.ts";

const beta = "anthropic-beta";
const version = "anthropic-version";

/** Sent if the client names no version, and with translated requests. */
const defaultVersion = "2023-06-01";

/** `compat-version` is the interface's own name for `anthropic-version`. */
export function forwardHeaders(client: Headers): ForwardedHeaders {
  const asked = client.get("compat-version") ?? client.get(version);
  const forwarded = pickHeaders([beta], client);
  return isSendable(asked) ? { ...forwarded, [version]: asked } : forwarded;
}

/** A translated request has no headers of the client's dialect. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  return {
    [version]: defaultVersion,
    ...pickHeaders([beta, version], { get: (name) => forwarded[name] ?? null }),
  };
}
