import type { Clock } from "../../base/clock.ts";
import { translateRateLimits } from "../../dialects/errors/rate-limits.ts";
import { type ForwardedHeaders, pickHeaders } from "../../dialects/headers.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { Head } from "../../wire/transfer.ts";
import type { Deployment, Plan } from "../upstream.ts";

/** The headers of a provider's response that the client gets. */
export function shownHeaders(
  head: Head,
  { provider }: Deployment,
  plan: Pick<Plan, "clientDialect">,
  clock: Clock,
): ForwardedHeaders {
  const headers = pickResponse(head);
  if (!provider.settings.rateLimitHeaders) return headers;
  const { errorFormat } = clientDialect(plan.clientDialect);
  return { ...headers, ...translateRateLimits(head, errorFormat.rateLimits, clock.wallMs()) };
}

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

export function pickResponse(provider: Pick<Head, "get">): ForwardedHeaders {
  return pickHeaders(responseNames, provider);
}
