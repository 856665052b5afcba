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
];

test.each<[ClientId, RegExp, string | undefined]>([
  ["claude-code", /./, "claude-opus-5-5"],
  ["claude-code", /fable|sonnet|gpt/, "claude-sonnet-5-5"],
  ["claude-code", /gpt|house/, "gpt-6-astra"],
  ["anthropic", /./, "claude-opus-5-5"],
  ["codex", /./, "gpt-6.1-sol"],
  ["codex", /astra|opus/, "gpt-6-astra"],
  ["openai", /house|llama/, "llama-5"],
  ["curl", /./, "llama-5"],
  ["codex", /house/, "house"],
  ["curl", /nothing/, undefined],
])("%s gets the best model of %s: %s", (client, served, expected) => {
  const models = all.filter(({ id }) => served.test(id));
  expect(preferredModel(client, models)?.id).toBe(expected);
});
