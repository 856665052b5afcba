import { expect, test } from "bun:test";
import type { ProviderSettings } from "../../src/vendors/provider.ts";
import { genAiProviderName, vendorKinds } from "../../src/vendors/registry.ts";

/** The names that https://opentelemetry.io/docs/specs/semconv/gen-ai/ lists for `gen_ai.provider.name`, of the vendors here. */
const listed: Readonly<Record<string, string>> = {
  openai: "openai",
  anthropic: "anthropic",
  azure: "azure.ai.openai",
  bedrock: "aws.bedrock",
  gemini: "gcp.gemini",
  vertex: "gcp.vertex_ai",
};

/** Only what the name depends on. */
function settingsOf(kind: string, baseUrl = "http://127.0.0.1:1"): ProviderSettings {
  return { name: "house", kind, baseUrl } as ProviderSettings;
}

test.each([...vendorKinds])(
  "a provider of kind %s is traced under the name that the conventions list",
  (kind) => {
    expect(genAiProviderName(settingsOf(kind))).toBe(listed[kind] ?? "house");
  },
);

test.each([
  ["https://api.x.ai/v1", "x_ai"],
  ["https://api.mistral.ai/v1", "mistral_ai"],
  ["https://api.deepseek.com", "deepseek"],
  ["https://api.groq.com/openai/v1", "groq"],
  ["https://api.perplexity.ai", "perplexity"],
  ["https://api.cohere.com/v2", "cohere"],
  ["https://not-x.ai.example/v1", "house"],
  ["http://127.0.0.1:11434/v1", "house"],
])("a compatible server at %s is traced as %s", (baseUrl, name) => {
  expect(genAiProviderName(settingsOf("openai-compatible", baseUrl))).toBe(name);
});
