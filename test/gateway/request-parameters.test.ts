import { expect, test } from "bun:test";
import type { JsonObject } from "../../src/base/json.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import { requestParameters, tracedFacts } from "../../src/gateway/exchange/traced-facts.ts";

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

test.each<JsonObject>([
  { reasoning_effort: "High" },
  { reasoning: { effort: "high" } },
  { output_config: { effort: "high" } },
  { generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } } },
])("the effort of %j is its level of reasoning", (body) => {
  expect(requestParameters(body)).toEqual({ "gen_ai.request.reasoning.level": "high" });
});

test("an id of the response before is named, and no other text", () => {
  expect(requestParameters({ previous_response_id: "resp_1" })).toEqual({
    "gen_ai.request.previous_response.id": "resp_1",
  });
  const texts = { previous_response_id: "what Ada said", reasoning_effort: "as Ada likes it" };
  expect(requestParameters(texts)).toEqual({});
});

const deployment = {
  provider: { settings: { kind: "openai", name: "mine", baseUrl: "https://llm.example.com:8443/v1" } },
  shownModel: "gpt-audio",
};

test("a span knows the host of its provider, and its tokens by what they are of", () => {
  const usage = { ...noUsage, inputTokens: 60, cachedInputTokens: 40, outputTokens: 30 };
  const media = { audioInputTokens: 20, audioOutputTokens: 5, cachedAudioInputTokens: 10 };
  const exchange = {
    ...{ attempts: { deployment }, labels: null, parameters: null, key: null, charged: 0 },
    configured: { settings: { microUsdPerCredit: 1_000_000 } },
    charge: { usage, extras: { tiers: [], calls: {}, ...media }, listCostNano: null },
  };
  // Only these parts of an exchange are read.
  expect(tracedFacts(exchange as unknown as Parameters<typeof tracedFacts>[0])).toMatchObject({
    genAiProvider: "openai",
    server: { address: "llm.example.com", port: 8443 },
    isCompacted: false,
    byModality: {
      input: { text: 70, audio: 30, image: 0 },
      cachedInput: { text: 30, audio: 10, image: 0 },
      output: { text: 25, audio: 5, image: 0 },
    },
  });
});
