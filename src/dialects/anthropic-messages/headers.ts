import { type ForwardedHeaders, isSendable } from "../headers.ts";

const prefix = "anthropic-";
const version = "anthropic-version";
/** Chooses among the workspaces of the account that pays, which is the operator's business. */
const workspace = "anthropic-workspace-id";

/** Sent if the client names no version, and with translated requests. */
const defaultVersion = "2023-06-01";

/**
 * All that Anthropic's clients send to Anthropic: it adds such headers with new features. `compat-version` is the
 * interface's own name for `anthropic-version`.
 */
export function forwardHeaders(client: Headers): ForwardedHeaders {
  const forwarded: Record<string, string> = {};
  client.forEach((value, name) => {
    if (name.startsWith(prefix) && name !== workspace && isSendable(value)) forwarded[name] = value;
  });
  const requested = client.get("compat-version");
  if (isSendable(requested)) forwarded[version] = requested;
  return forwarded;
}

/** A translated request has no headers of the client's dialect. */
export function requestHeaders(forwarded: ForwardedHeaders): ForwardedHeaders {
  const headers: Record<string, string> = { [version]: defaultVersion };
  for (const name in forwarded) if (name.startsWith(prefix)) headers[name] = forwarded[name] ?? "";
  return headers;
}
