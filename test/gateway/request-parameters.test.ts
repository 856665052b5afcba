import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { requestParameters } from "../../src/gateway/exchange/traced-facts.ts";

test.each<JsonObject>([
  { max_tokens: 9, temperature: 0.25, top_k: 3, n: 2, stop: ["x"] },
  { generationConfig: { maxOutputTokens: 9, temperature: 0.25, topK: 3, candidateCount: 2 } },
  { generation_config: { max_output_tokens: 9, temperature: 0.25, top_k: 3, candidate_count: 2 } },
])("a span has the parameters of %j under the conventions' names, and no texts", (body) => {
  expect(requestParameters(body)).toEqual({
    "gen_ai.request.max_tokens": 9,
    "gen_ai.request.temperature": 0.25,
    "gen_ai.request.top_k": 3,
    "gen_ai.request.choice.count": 2,
  });
});
