import { describe, expect, test } from "bun:test";
import { missingModelAdvice } from "../../src/config/catalog/missing-model.ts";
import type { ProviderConfig } from "../../src/config/schema.ts";

const openai: ProviderConfig = { kind: "openai", api_key: "env:OPENAI_API_KEY", models: "catalog" };
const anthropic: ProviderConfig = {
  kind: "anthropic",
  api_key: "env:ANTHROPIC_API_KEY",
  models: ["claude-haiku-*"],
};
const groq: ProviderConfig = {
  kind: "openai-compatible",
  base_url: "https://api.groq.com/openai/v1",
  api_key: "env:GROQ_API_KEY",
  models: "catalog",
  catalog: "groq",
};

const advice = (
  id: string,
  providers: Readonly<Record<string, ProviderConfig>>,
  usable = Object.keys(providers),
) => missingModelAdvice(id, { providers, usable: new Set(usable) });

describe("the advice for a model that is not served", () => {
  test("never sends a Claude model to OpenAI, whose patterns match everything", () => {
    const said = advice("claude-opus-4-8", { openai });
    expect(said).toStartWith("It is a model of Anthropic.");
    expect(said).toContain(
      'set ANTHROPIC_API_KEY, and add to a configuration file [providers.anthropic] with kind = "anthropic", api_key = "env:ANTHROPIC_API_KEY" and models = ["claude-opus-4-8"]',
    );
    expect(said).not.toContain("openai");
  });

  test("names the key that is missing", () => {
    expect(advice("claude-opus-4-8", { openai, anthropic }, ["openai"])).toBe(
      'Provider "anthropic" would serve it, but has no usable key; set ANTHROPIC_API_KEY',
    );
  });

  test("is one line if the catalog knows the model, with or without the vendor's prefix", () => {
    for (const id of ["claude-opus-4-8", "anthropic/claude-opus-4-8"])
      expect(advice(id, { openai, anthropic })).toBe(
        'The catalog has its price: add "claude-opus-4-8" to `models` of [providers.anthropic]',
      );
  });

  test("is an entry with a price, or the command that finds it, if the catalog does not know the model", () => {
    expect(advice("gpt-99", { openai })).toBe(
      'If openai offers it, add [[models]] with id = "gpt-99", provider = "openai" and its price; `sluice models discover openai --write` adds the models whose price is known',
    );
    expect(advice("house-model", { openai })).toStartWith(
      'If a provider offers it, add [[models]] with id = "house-model"',
    );
  });

  test("finds the vendor of a name that only its list has, and the address that it needs", () => {
    expect(advice("llama-3.3-70b-versatile", { openai })).toContain(
      '[providers.groq] with kind = "openai-compatible", base_url = "https://api.groq.com/openai/v1", catalog = "groq", api_key = "env:GROQ_API_KEY" and models = ["llama-3.3-70b-versatile"]',
    );
    expect(advice("llama-3.3-70b-versatile", { groq }, [])).toContain("set GROQ_API_KEY");
  });
});
