import type { JsonObject } from "../../base/json.ts";
import { noUsage, type Usage } from "../../base/usage.ts";

/** Never absent: the official SDK reads these without asking whether they are there. */
export function writeUsage(known: Usage | null): JsonObject {
  const usage = known ?? noUsage;
  return {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
    ...(usage.reasoningTokens === 0
      ? {}
      : { output_tokens_details: { thinking_tokens: usage.reasoningTokens } }),
  };
}

/** Anthropic's words for a tier. */
export function writeTier(tier: string | null): JsonObject {
  return tier === null ? {} : { service_tier: tier === "default" ? "standard" : tier };
}
