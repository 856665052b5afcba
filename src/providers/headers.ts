import type { DialectName } from "../base/dialect.ts";
import type { Head } from "../wire/transfer.ts";
import type { ForwardedHeaders } from "./provider.ts";

/**
 * What travels between client and provider, by name. Everything else stays behind: credentials, cookies and
 * hop-by-hop headers never go up; cookies, account names, keys and the rate limits of the operator's own
 * account never come back.
 */

/** Understood by providers that speak `messages`. */
const anthropicNames = ["anthropic-beta"] as const;

/** Understood by providers that speak `chat` or `responses`. */
const openAiNames = [
  "openai-beta",
  "x-codex-beta-features",
  "x-openai-internal-codex-responses-lite",
] as const;

/** Helpful to clients and silent about the account behind the gateway. */
const responseNames = [
  "openai-model",
  "openai-processing-ms",
  "openai-version",
  "x-codex-turn-state",
] as const;

/** Longer values serve nobody, and some servers answer oversized headers by closing the connection. */
const maxValueChars = 4096;

const none: Readonly<Record<string, string>> = Object.freeze({});

/** Picks what goes up. `compat-version` is the interface's own name for `anthropic-version`. */
export function pickForwarded(dialect: DialectName, client: Headers): ForwardedHeaders {
  if (dialect !== "messages") return pick(openAiNames, client);
  const version = client.get("compat-version") ?? client.get("anthropic-version");
  const forwarded = pick(anthropicNames, client);
  return isSane(version) ? { ...forwarded, "anthropic-version": version } : forwarded;
}

/** Picks what comes back. */
export function pickResponse(provider: Pick<Head, "get">): Readonly<Record<string, string>> {
  return pick(responseNames, provider);
}

function pick(names: readonly string[], headers: Pick<Head, "get">): Readonly<Record<string, string>> {
  let picked: Record<string, string> | null = null;
  for (const name of names) {
    const value = headers.get(name);
    if (!isSane(value)) continue;
    picked ??= {};
    picked[name] = value;
  }
  return picked ?? none;
}

function isSane(value: string | null): value is string {
  return value !== null && value !== "" && value.length <= maxValueChars;
}
