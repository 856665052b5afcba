import { describe, expect, test } from "bun:test";
import { readPrices } from "../../../src/cli/import/prices.ts";

describe("models that search in each request, for a fee", () => {
  const sizes = {
    search_context_size_low: 0.005,
    search_context_size_medium: 0.008,
    search_context_size_high: 0.012,
  };
  const sonar = {
    litellm_provider: "perplexity",
    mode: "chat",
    input_cost_per_token: 1e-6,
    output_cost_per_token: 1e-6,
    search_context_cost_per_query: sizes,
  };

  test("have the fee by its size in LiteLLM's file, which other vendors' models have per search", () => {
    const { models } = readPrices(
      JSON.stringify({
        "perplexity/sonar": sonar,
        "perplexity/old-online": {
          ...sonar,
          search_context_cost_per_query: undefined,
          input_cost_per_request: 0.005,
        },
        "search-preview": { ...sonar, litellm_provider: "azure" },
      }),
    );
    expect(models.map(({ price }) => price)).toEqual([
      { input: 1, output: 1, requests: { low: 5, medium: 8, high: 12 } },
      { input: 1, output: 1, requests: 5 },
      { input: 1, output: 1, web_search: 12 },
    ]);
  });

  test("are left out if half of the price is missing", () => {
    const deep = { ...sonar, citation_cost_per_token: 2e-6 };
    const { models, leftOut } = readPrices(JSON.stringify({ "perplexity/sonar-deep-research": deep }));
    expect([models, leftOut]).toEqual([[], { "billed by citations": 1 }]);
    const dump = { perplexity: { models: { sonar: { cost: { input: 1, output: 1 } } } } };
    const read = readPrices(JSON.stringify(dump));
    expect([read.models, read.leftOut]).toEqual([[], { "without a price per request": 1 }]);
  });
});
