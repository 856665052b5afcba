import { type ForwardedHeaders, isSendable, pickHeaders } from "../headers.ts";

const beta = "anthropic-beta";
const version = "anthropic-version";

/** The version that is asked for when the client names none, and when the request is a translation. */
const defaultVersion = "2023-06-01";

/** `compat-version` is the interface's own name for `anthropic-version`. */
export function forwardHeaders(client: Headers): ForwardedHeaders {
  const asked = client.get("compat-version") ?? client.get(version);
  const forwarded = pickHeaders([beta], client);
  return isSendable(asked) ? { ...forwarded, [version]: asked } : forwarded;
}

/** A request that was translated carries nothing that only the client's own dialect understands. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  return {
    [version]: defaultVersion,
    ...pickHeaders([beta, version], { get: (name) => forwarded[name] ?? null }),
  };
}
