/** Answers of the vendors' usage and cost APIs, as they are saved. */

const firstOfOctober = Date.UTC(2026, 9, 1) / 1000;

function openAiPage(
  buckets: readonly (readonly object[])[],
  fromDay: number,
  nextPage: string | null,
): string {
  return JSON.stringify({
    object: "page",
    data: buckets.map((results, index) => ({
      object: "bucket",
      start_time: firstOfOctober + (fromDay + index) * 86_400,
      end_time: firstOfOctober + (fromDay + index + 1) * 86_400,
      results,
    })),
    has_more: nextPage !== null,
    next_page: nextPage,
  });
}

export function openAiUsage(model: string | null, figures: object = {}): object {
  return {
    object: "organization.usage.completions.result",
    input_tokens: 1000,
    output_tokens: 500,
    input_cached_tokens: 800,
    num_model_requests: 5,
    project_id: null,
    user_id: null,
    api_key_id: null,
    model,
    batch: null,
    service_tier: null,
    ...figures,
  };
}

export function openAiCost(line_item: string | null, value: number | string, currency = "usd"): object {
  const amount = { value, currency };
  return { object: "organization.costs.result", amount, line_item, project_id: null, api_key_id: null };
}

/** Two pages: a day each. */
export const openAiUsagePages = [
  openAiPage([[openAiUsage("gpt-5.6-2026-04-23"), openAiUsage("gpt-5.6-mini")]], 0, "AAAAAGdGxdEiJdKO="),
  openAiPage([[openAiUsage("gpt-5.6-2026-04-23", { input_cached_tokens: undefined })], []], 1, null),
];

export const openAiCostsPage = openAiPage(
  [
    [
      openAiCost("gpt-5.6-2026-04-23, input", 0.06),
      openAiCost("gpt-5.6-2026-04-23, cached input", "0.0123456789"),
      openAiCost("priority | gpt-5.6-mini audio, output, long context", 1e-7),
      openAiCost("web search tool calls", 0.5),
    ],
  ],
  0,
  null,
);

export const openAiPageOf = openAiPage;

function anthropicPage(results: readonly object[], nextPage: string | null = null): string {
  const bucket = { starting_at: "2026-10-01T00:00:00Z", ending_at: "2026-10-02T00:00:00Z", results };
  return JSON.stringify({ data: [bucket], has_more: nextPage !== null, next_page: nextPage });
}

export const anthropicUsagePage = anthropicPage([
  {
    uncached_input_tokens: 1500,
    cache_creation: { ephemeral_1h_input_tokens: 1000, ephemeral_5m_input_tokens: 500 },
    cache_read_input_tokens: 200,
    output_tokens: 500,
    server_tool_use: { web_search_requests: 10 },
    api_key_id: null,
    workspace_id: null,
    model: "claude-opus-4-7-20260416",
    service_tier: "standard",
    context_window: null,
  },
]);

export const anthropicCostPage = anthropicPage([
  {
    currency: "USD",
    amount: "123.78912",
    workspace_id: null,
    description: "Claude Opus 4.7 Usage - Input Tokens",
    cost_type: "tokens",
    context_window: "0-200k",
    model: "claude-opus-4-7-20260416",
    service_tier: "standard",
    token_type: "uncached_input_tokens",
  },
  {
    currency: "USD",
    amount: "10.00",
    workspace_id: null,
    description: "Web Search Usage",
    cost_type: "web_search",
    model: null,
    token_type: null,
  },
]);
