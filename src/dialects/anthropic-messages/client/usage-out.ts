import type { JsonObject } from "../../../base/json.ts";
import { noUsage, type Usage } from "../../../base/usage.ts";

/** Never absent: the official SDK reads these without a check. The tier has OpenAI's name. */
export function writeUsage(known: Usage | null, tier: string | null): JsonObject {
  const usage = known ?? noUsage;
  const written: JsonObject = {
    input_tokens: usage.inputTokens,
    cache_creation_input_tokens: usage.cacheWriteTokens,
    cache_read_input_tokens: usage.cachedInputTokens,
    output_tokens: usage.outputTokens,
  };
  if (usage.reasoningTokens > 0) {
    written["output_tokens_details"] = { thinking_tokens: usage.reasoningTokens };
  }
  if (tier !== null) written["service_tier"] = tier === "default" ? "standard" : tier;
  return written;
}
