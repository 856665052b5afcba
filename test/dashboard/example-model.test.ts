import { describe, expect, test } from "bun:test";
import type { ModelBriefView } from "../../src/admin/models/schema.ts";
import { exampleModel, type KeyScope } from "../../src/dashboard/page/example-model.ts";

const model = (id: string, provider: string, more: Partial<ModelBriefView> = {}): ModelBriefView => ({
  id,
  display_name: null,
  owned_by: provider,
  providers: [provider],
  aliases: [],
  listed: true,
  public: true,
  free: false,
  serves: ["generation"],
  abilities: [],
  context_window: null,
  ends: null,
  price: { input: 1, output: 2 },
  health: null,
  ...more,
});

const models = [
  model("demo-small", "demo"),
  model("house-gpt", "own", { price: null }),
  model("text-embedding-3-small", "openai", { serves: ["embeddings"] }),
  model("gpt-6.1-sol", "openai", { aliases: ["openai/gpt-6.1-sol"] }),
  model("gpt-6-luna-2026-09-22", "openai", { listed: false }),
  model("claude-opus-5-5", "anthropic"),
];
const key = (more: Partial<KeyScope> = {}): KeyScope => ({
  mode: "credit",
  models: null,
  provider_scope: "all",
  ...more,
});

describe("the model in an example on the dashboard", () => {
  test("has a price for a credit key, and need not have one for a token-budget key", () => {
    expect(exampleModel("curl", models)).toBe("gpt-6.1-sol");
    expect(exampleModel("curl", models, key({ mode: "token_budget" }))).toBe("house-gpt");
  });

  test("is one that the key may use, by its names and its provider", () => {
    expect(exampleModel("curl", models, key({ provider_scope: "anthropic" }))).toBe("claude-opus-5-5");
    expect(exampleModel("curl", models, key({ models: ["openai/gpt-6.1-sol"] }))).toBe("gpt-6.1-sol");
    expect(exampleModel("curl", models, key({ models: ["demo-small"] }))).toBe("demo-small");
    expect(exampleModel("curl", models, key({ models: ["gpt-6-luna-2026-09-22"] }))).toBe(
      "gpt-6-luna-2026-09-22",
    );
  });

  test("is none if the key can use none", () => {
    expect(exampleModel("curl", models, key({ models: ["text-embedding-3-small"] }))).toBeUndefined();
  });
});
