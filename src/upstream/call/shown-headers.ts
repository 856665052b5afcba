import type { Clock } from "../../base/clock.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import { translateRateLimits } from "../../dialects/rate-limit-headers.ts";
import { clientDialect } from "../../dialects/registry.ts";
import { pickResponse } from "../../vendors/http/response-headers.ts";
import type { Head } from "../../wire/transfer.ts";
import type { Deployment, Plan } from "../upstream.ts";

/** The headers of a provider's answer that the client gets to see. */
export function shownHeaders(
  head: Head,
  { provider }: Deployment,
  plan: Pick<Plan, "clientDialect">,
  clock: Clock,
): ForwardedHeaders {
  const headers = pickResponse(head);
  if (!provider.settings.rateLimitHeaders) return headers;
  const { errorFormat } = clientDialect(plan.clientDialect);
  return { ...headers, ...translateRateLimits(head, errorFormat, clock.wallMs()) };
}
