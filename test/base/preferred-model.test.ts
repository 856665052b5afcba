import { expect, test } from "bun:test";
import type { ClientId } from "../../src/base/models/client-snippets.ts";
import { preferredModel } from "../../src/base/models/preferred-model.ts";

const all = [
  { id: "house", provider: "demo" },
  { id: "llama-5", provider: "local" },
  { id: "gpt-6-astra", provider: "openai" },
  { id: "gpt-6.1-sol", provider: "openai" },
  { id: "claude-fable-5-1", provider: "anthropic" },
  { id: "claude-opus-5-5", provider: "anthropic" },
  { id: "claude-sonnet-5-5", provider: "anthropic" },
  { id: "claude-opus-5", provider: "anthropic" },
  { id: "gemini-4-pro-image", provider: "gemini" },
  { id: "gemini-4-pro", provider: "gemini" },
  { id: "gemini-4-flash", provider: "gemini" },
];

test.each<[ClientId, RegExp, string | undefined]>([
  ["claude-code", /./, "claude-opus-5-5"],
  ["claude-code", /fable|sonnet|gpt/, "claude-sonnet-5-5"],
  ["claude-code", /gpt|house/, "gpt-6-astra"],
  ["anthropic", /./, "claude-opus-5-5"],
  ["codex", /./, "gpt-6.1-sol"],
  ["gemini-cli", /./, "gemini-4-pro"],
  ["google-genai", /flash|gpt/, "gemini-4-flash"],
  ["codex", /astra|opus/, "gpt-6-astra"],
  ["openai", /house|llama/, "llama-5"],
  ["curl", /./, "llama-5"],
  ["codex", /house/, "house"],
  ["curl", /nothing/, undefined],
])("%s gets the best model of %s: %s", (client, served, expected) => {
  const models = all.filter(({ id }) => served.test(id));
  expect(preferredModel(client, models)?.id).toBe(expected);
});

test("a model that the key can pay for comes first, the client's own family before others", () => {
  const chosen = (client: ClientId, affordable: RegExp) =>
    preferredModel(client, all, ({ id }) => affordable.test(id))?.id;
  expect(chosen("gemini-cli", /flash|sonnet|gpt/)).toBe("gemini-4-flash");
  expect(chosen("gemini-cli", /sonnet/)).toBe("claude-sonnet-5-5");
  expect(chosen("claude-code", /sonnet|gpt/)).toBe("claude-sonnet-5-5");
  expect(chosen("gemini-cli", /house/)).toBe("gemini-4-pro");
});
