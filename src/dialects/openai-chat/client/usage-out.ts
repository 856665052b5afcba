import type { JsonObject } from "../../../base/json.ts";
import { noUsage, totalInput, totalTokens, type Usage } from "../../../base/usage.ts";

/** Always complete: clients read the details without asking whether they are there. */
export function writeUsage(known: Usage | null): JsonObject {
  const usage = known ?? noUsage;
  return {
    prompt_tokens: totalInput(usage),
    completion_tokens: usage.outputTokens,
    total_tokens: totalTokens(usage),
    prompt_tokens_details: {
      cached_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  };
}
