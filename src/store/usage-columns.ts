import type { Usage } from "../base/usage.ts";

/** The tokens of an entry, by the names that the program uses. They are null without a usage record. */
export const usageColumns = `
  input_tokens::float8 AS "inputTokens", cached_input_tokens::float8 AS "cachedInputTokens",
  cache_write_tokens::float8 AS "cacheWriteTokens", output_tokens::float8 AS "outputTokens",
  reasoning_tokens::float8 AS "reasoningTokens"`;

/** A row's tokens, and the rest of it. */
export function splitUsage<Row extends Usage>(row: Row) {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  return { usage: { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens }, rest };
}
