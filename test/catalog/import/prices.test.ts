import { describe, expect, test } from "bun:test";
import { choose, readPrices, UnknownPriceFile } from "../../../src/catalog/import/prices.ts";
import { modelsToml } from "../../../src/catalog/import/toml.ts";
import { loadSettings } from "../../../src/config/load.ts";
import { withFile } from "./fixtures.ts";

const liteLlm = JSON.stringify({
  sample_spec: { litellm_provider: "one of https://…", mode: "chat" },
  "gpt-6.1-sol": {
    litellm_provider: "openai",
    mode: "responses",
    input_cost_per_token: 2e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 1.0000000000000001e-7,
    input_cost_per_token_above_272k_tokens: 4e-6,
    max_input_tokens: 922000,
    max_output_tokens: 128000,
    max_tokens: 128000,
    supports_function_calling: true,
    supports_vision: true,
  },
  "gemini/gemini-3.8-flash": {
    litellm_provider: "gemini",
    mode: "chat",
    input_cost_per_token: 7.5e-7,
    output_cost_per_token: 3.75e-6,
    max_tokens: 65536,
  },
  "text-embedding-3-large": { litellm_provider: "openai", mode: "embedding", input_cost_per_token: 1.3e-7 },
  "whisper-1": { litellm_provider: "openai", mode: "audio_transcription" },
  "mystery-chat": { litellm_provider: "openai", mode: "chat" },
});

const modelsDev = JSON.stringify({
  anthropic: {
    id: "anthropic",
    name: "Anthropic",
    models: {
      "claude-opus-5-5": {
        id: "claude-opus-5-5",
        name: "Claude Opus 5.5",
        cost: { input: 4, output: 20, cache_read: 0.2, cache_write: 5 },
        limit: { context: 1000000, output: 128000 },
        modalities: { input: ["text", "image"], output: ["text"] },
        tool_call: true,
        reasoning: true,
      },
    },
  },
  google: {
    id: "google",
    models: {
      "gemini-3.1-pro-preview": {
        name: "Gemini 3.1 Pro",
        cost: { input: 2, output: 12, tiers: [{ tier: { size: 200000 }, input: 4, output: 18 }] },
        limit: { context: 1048576, output: 65536 },
      },
      "gemini-image": { cost: { input: 1, output: 2 }, modalities: { input: ["text"], output: ["image"] } },
    },
  },
});

describe("LiteLLM's price file", () => {
  const { source, models, leftOut } = readPrices(liteLlm);

  test("gives models with prices per million, without the noise of its fractions", () => {
    expect(source).toBe("LiteLLM");
    expect(models.map(({ id, vendor }) => `${vendor} ${id}`)).toEqual([
      "openai gpt-6.1-sol",
      "gemini gemini-3.8-flash",
    ]);
    expect(models[0]).toMatchObject({
      contextWindow: 922000,
      maxOutputTokens: 128000,
      price: { input: 2, output: 10, cachedInput: 0.1, cacheWrite: null },
      capabilities: { tools: true, vision: true, reasoning: false },
    });
    expect(models[0]?.price.longContext).toEqual({
      above: 272_000,
      input: 4,
      output: 10,
      cachedInput: null,
      cacheWrite: null,
    });
  });

  test("says what it left out", () => {
    expect(leftOut).toEqual({ embedding: 1, "audio transcription": 1, "without a price per token": 1 });
  });
});

describe("models.dev's dump", () => {
  const { source, models, leftOut } = readPrices(modelsDev);

  test("gives models with their names, caches and higher prices for long inputs", () => {
    expect(source).toBe("models.dev");
    expect(models[0]).toMatchObject({
      displayName: "Claude Opus 5.5",
      price: { input: 4, output: 20, cachedInput: 0.2, cacheWrite: 5 },
      capabilities: { vision: true },
    });
    expect(models[1]?.price.longContext).toMatchObject({ above: 200_000, input: 4, output: 18 });
    expect(leftOut).toEqual({ "without text output": 1 });
  });
});

test("any other file is refused in words", () => {
  for (const text of ["[]", "{", '{"a":{"b":1}}', "null"]) {
    expect(() => readPrices(text)).toThrow(UnknownPriceFile);
  }
});

test("models are chosen by vendor and by pattern, and a name comes once", () => {
  const { models } = readPrices(liteLlm);
  const [first] = models;
  if (first === undefined) throw new Error("there are models");
  expect(choose(models, { vendor: "gemini" }).map(({ id }) => id)).toEqual(["gemini-3.8-flash"]);
  expect(choose(models, { match: "gpt-*" }).map(({ id }) => id)).toEqual(["gpt-6.1-sol"]);
  expect(choose([...models, { ...first, vendor: "azure" }], {}).length).toBe(2);
});

test("tools, audio and tiers keep their prices, from LiteLLM's file to a configuration", () => {
  const file = {
    "gpt-x": {
      litellm_provider: "openai",
      mode: "chat",
      input_cost_per_token: 1e-6,
      output_cost_per_token: 2e-6,
      input_cost_per_token_priority: 2e-6,
      output_cost_per_token_priority: 4e-6,
      cache_read_input_token_cost_priority: 2e-7,
      input_cost_per_token_flex: 5e-7,
      input_cost_per_audio_token: 4e-5,
      output_cost_per_audio_token: 8e-5,
      search_context_cost_per_query: { search_context_size_low: 0.01, search_context_size_high: 0.025 },
      file_search_cost_per_1k_calls: 2.5,
      code_interpreter_cost_per_session: 0.03,
    },
  };
  const { models } = readPrices(JSON.stringify(file));
  const toml = `[providers.openai]\nkind = "demo"\n${modelsToml(models, "LiteLLM", "2026-01-01")}`;
  using written = withFile("sluice.toml", toml);
  const { settings } = loadSettings({ file: written.path, env: {}, cwd: written.folder });
  expect(settings.models[0]?.price).toEqual({
    ...{ input: 1_000_000, output: 2_000_000, cachedInput: 1_000_000, cacheWrite: 1_000_000 },
    ...{ audioInput: 40_000_000, audioOutput: 80_000_000 },
    calls: { web_search: 25_000_000_000, file_search: 2_500_000_000, code_interpreter: 30_000_000_000 },
    tiers: { priority: { input: 2_000_000, output: 4_000_000, cachedInput: 200_000, cacheWrite: 2_000_000 } },
  });
});

test("audio keeps its price, from models.dev", () => {
  const cost = { input: 1, output: 2, input_audio: 3, output_audio: 4 };
  const file = { mistral: { models: { "gpt-x": { cost, modalities: { output: ["text"] } } } } };
  expect(readPrices(JSON.stringify(file)).models[0]?.price.extras).toEqual({
    audio_input: 3,
    audio_output: 4,
  });
});

test("what is written loads as a configuration, price for price", () => {
  const models = [...readPrices(liteLlm).models, ...readPrices(modelsDev).models];
  const providers = ["openai", "gemini", "anthropic", "google"].map(
    (name) => `[providers.${name}]\nkind = "demo"\n`,
  );
  const toml = `${providers.join("")}\n${modelsToml(models, "a file", "2026-11-15")}`;
  using file = withFile("sluice.toml", toml);
  const { settings } = loadSettings({ file: file.path, env: {}, cwd: file.folder });
  expect(settings.models.map((model) => [model.id, model.price?.input, model.price?.cachedInput])).toEqual([
    ["gpt-6.1-sol", 2_000_000, 100_000],
    ["gemini-3.8-flash", 750_000, 750_000],
    ["claude-opus-5-5", 4_000_000, 200_000],
    ["gemini-3.1-pro-preview", 2_000_000, 2_000_000],
  ]);
});

test("a capability that a file does not speak of is not denied: the model's name may know better", () => {
  const [claude] = readPrices(modelsDev).models;
  expect(claude?.id).toBe("claude-opus-5-5");
  expect(claude?.capabilities).not.toHaveProperty("structured_output");
  const [gpt] = readPrices(liteLlm).models;
  expect(gpt?.capabilities).not.toHaveProperty("structured_output");
});

test("prices of long contexts and of an hour in the cache come along, from both files to a configuration", () => {
  const litellm = readPrices(
    JSON.stringify({
      "claude-x": {
        litellm_provider: "anthropic",
        mode: "chat",
        input_cost_per_token: 3e-6,
        output_cost_per_token: 15e-6,
        cache_read_input_token_cost: 3e-7,
        cache_creation_input_token_cost: 3.75e-6,
        cache_creation_input_token_cost_above_1hr: 6e-6,
        input_cost_per_token_above_200k_tokens: 6e-6,
        output_cost_per_token_above_200k_tokens: 22.5e-6,
        cache_read_input_token_cost_above_200k_tokens: 6e-7,
        cache_creation_input_token_cost_above_200k_tokens: 7.5e-6,
        input_cost_per_token_above_500k_tokens: 9e-6,
      },
    }),
  );
  const dump = readPrices(
    JSON.stringify({
      anthropic: {
        models: {
          "claude-x": {
            cost: {
              input: 3,
              output: 15,
              cache_read: 0.3,
              cache_write: 3.75,
              context_over_200k: { input: 6, output: 22.5, cache_read: 0.6, cache_write: 7.5 },
            },
          },
        },
      },
    }),
  );
  const long =
    "long_context = { above = 200000, input = 6.0, output = 22.5, cached_input = 0.6, cache_write = 7.5 }";
  const usual = "input = 3.0, output = 15.0, cached_input = 0.3, cache_write = 3.75";
  expect(modelsToml(litellm.models, "LiteLLM", "today")).toContain(
    `price = { ${usual}, cache_write_1h = 6.0, ${long}, web_search = 10.0 }`,
  );
  expect(modelsToml(dump.models, "models.dev", "today")).toContain(
    `price = { ${usual}, ${long}, web_search = 10.0 }`,
  );
});

test("searches of vendors that have one list price for all models get it, unless the file has another", () => {
  const cost = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  const own = { search_context_cost_per_query: { search_context_size_high: 0.05 } };
  const file = {
    a: { ...cost, litellm_provider: "openai" },
    b: { ...cost, litellm_provider: "anthropic", ...own },
    c: { ...cost, litellm_provider: "groq" },
  };
  const prices = readPrices(JSON.stringify(file)).models.map(({ price }) => price.extras?.["web_search"]);
  expect(prices).toEqual([10, 50, undefined]);
});
