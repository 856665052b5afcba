/** Entries of public lists that are wrong, or that no request can be priced by. They are skipped. */
const slips: readonly (readonly [RegExp, string])[] = [
  [/^cohere embed-multilingual-light-v3\.0$/, "100 USD, and its siblings cost 0.1"],
  [/^perplexity (?:pplx-\d+b-online|sonar-(?:small|medium)-(?:chat|online))$/, "retired"],
  [/^alibaba (?:qwen-plus|qwen-turbo|qwen3-vl-plus)/, "its thinking costs more than its other output"],
  [
    /^databricks databricks-gpt-(?:5-3-codex|5-[45]-pro)$/,
    "the list has it for Responses, as OpenAI has, and Sluice calls chat there",
  ],
];

/** Why an entry is skipped; null for nearly all. */
export function slipOf(key: string): string | null {
  return slips.find(([pattern]) => pattern.test(key))?.[1] ?? null;
}
