import { describe, expect, test } from "bun:test";
import { choose, readPrices, UnknownPriceFile } from "../../../src/cli/import/prices.ts";
import { modelsToml } from "../../../src/cli/import/toml.ts";
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
    const names = ["openai gpt-6.1-sol", "gemini gemini-3.8-flash", "openai text-embedding-3-large"];
    expect(models.map(({ id, vendor }) => `${vendor} ${id}`)).toEqual(names);
    expect(models[0]).toMatchObject({
      contextWindow: 922000,
      maxOutputTokens: 128000,
      price: { input: 2, output: 10, cached_input: 0.1 },
      capabilities: { tools: true, vision: true, reasoning: false },
    });
    expect(models[0]?.price.long_context).toEqual({ above: 272_000, input: 4, output: 10 });
  });

  test("says what it left out", () => {
    expect(leftOut).toEqual({ "audio transcription": 1, "without a price per token": 1 });
  });
});

describe("models.dev's dump", () => {
  const { source, models, leftOut } = readPrices(modelsDev);

  test("gives models with their names, caches and higher prices for long inputs", () => {
    expect(source).toBe("models.dev");
    expect(models[0]).toMatchObject({
      displayName: "Claude Opus 5.5",
      price: { input: 4, output: 20, cached_input: 0.2, cache_write: 5 },
      capabilities: { vision: true },
    });
    expect(models[1]?.price.long_context).toMatchObject({ above: 200_000, input: 4, output: 18 });
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
  expect(choose([...models, { ...first, vendor: "azure" }], {}).length).toBe(models.length);
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
    ...{ input: 1_000_000, output: 2_000_000, cached_input: 1_000_000, cache_write: 1_000_000 },
    extras: {
      ...{ audio_input: 40_000_000, audio_output: 80_000_000 },
      ...{ web_search: 25_000_000_000, file_search: 2_500_000_000, code_interpreter: 30_000_000_000 },
    },
    tiers: { priority: { ...{ input: 2_000_000, output: 4_000_000 }, cached_input: 2e5, cache_write: 2e6 } },
  });
});

test("audio keeps its price, from models.dev", () => {
  const cost = { input: 1, output: 2, input_audio: 3, output_audio: 4 };
  const file = { mistral: { models: { "gpt-x": { cost, modalities: { output: ["text"] } } } } };
  expect(readPrices(JSON.stringify(file)).models[0]?.price).toEqual({
    input: 1,
    output: 2,
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
  expect(settings.models.map((model) => [model.id, model.price?.input, model.price?.cached_input])).toEqual([
    ["gpt-6.1-sol", 2_000_000, 100_000],
    ["gemini-3.8-flash", 750_000, 750_000],
    ["text-embedding-3-large", 130_000, 130_000],
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
  const prices = readPrices(JSON.stringify(file)).models.map(({ price }) => price.web_search);
  expect(prices).toEqual([10, 50, undefined]);
});

const plainRates = { input: 1, output: 2 };

describe("an entry of LiteLLM's price file", () => {
  const costs = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
  const read = (entry: Record<string, unknown>, name = "m") =>
    readPrices(JSON.stringify({ [name]: { litellm_provider: "groq", ...entry } }));
  const only = (entry: Record<string, unknown>, name = "m") => read({ ...costs, ...entry }, name).models[0];

  test("that has no more than a price is a chat model", () => {
    expect(only({})).toEqual({
      id: "m",
      vendor: "groq",
      displayName: null,
      contextWindow: null,
      maxOutputTokens: null,
      price: plainRates,
      capabilities: { tools: false, vision: false, reasoning: false },
    });
  });

  test.each([
    [{ max_input_tokens: 9, max_output_tokens: 8, max_tokens: 7 }, 9, 8],
    [{ max_tokens: 7 }, 7, 7],
    [{ max_input_tokens: "9", max_output_tokens: -1 }, null, null],
  ])("%j has its limits", (entry, window, output) => {
    expect(only(entry)).toMatchObject({ contextWindow: window, maxOutputTokens: output });
  });

  test("has the capabilities that it states", () => {
    const all = {
      supports_function_calling: true,
      supports_vision: true,
      supports_reasoning: true,
      supports_response_schema: false,
    };
    expect(only(all)?.capabilities).toEqual({
      tools: true,
      vision: true,
      reasoning: true,
      structured_output: false,
    });
  });

  test("has the name that its vendor has for it", () => {
    expect(only({ litellm_provider: "gemini" }, "gemini/x")).toMatchObject({ id: "x", vendor: "gemini" });
    expect(only({ litellm_provider: "gemini" }, "gemini-x")).toMatchObject({ id: "gemini-x" });
    expect(only({ litellm_provider: 5 }, "openai/x")).toMatchObject({ id: "openai/x", vendor: "unknown" });
  });

  test.each(["chat", "responses"])("of the mode %s generates text", (mode) => {
    expect(only({ mode })?.id).toBe("m");
  });

  test("is left out without both prices, or where it is none", () => {
    const half = read({ ...costs, output_cost_per_token: undefined }).leftOut;
    expect(half).toEqual({ "without a price per token": 1 });
    expect(read({ ...costs, input_cost_per_token: "1" }).invalid).toMatchObject([{ id: "m" }]);
    const two = { a: { litellm_provider: "x", mode: "embedding" }, b: { mode: "embedding" }, c: 5 };
    expect(readPrices(JSON.stringify({ ...two, sample_spec: costs }))).toEqual({
      source: "LiteLLM",
      models: [],
      leftOut: { embedding: 2 },
      invalid: [],
    });
  });

  test("has no negative or infinite price, and six decimals at most", () => {
    expect(read({ ...costs, input_cost_per_token: -1 }).models).toEqual([]);
    expect(only({ input_cost_per_token: 1.23456789e-6 })?.price.input).toBe(1.234568);
    expect(only({ input_cost_per_token: 0 })?.price.input).toBe(0);
  });

  test("has the highest price of a search, and no tool without one", () => {
    const searched = (bySize: unknown) => only({ search_context_cost_per_query: bySize })?.price;
    expect(searched({ low: 0.01, medium: 0.03, high: 0.025 })).toEqual({ ...plainRates, web_search: 30 });
    expect(searched({ low: "0.01" })).toEqual(plainRates);
    expect(searched(0.01)).toEqual(plainRates);
    expect(only({ code_interpreter_cost_per_session: "0.03" })?.price).toEqual(plainRates);
    expect(only({ file_search_cost_per_1k_calls: 2.5 })?.price).toEqual({ ...plainRates, file_search: 2.5 });
    expect(only({ code_interpreter_cost_per_session: 0.03 })?.price).toEqual({
      ...plainRates,
      code_interpreter: 30,
    });
  });

  test("has a tier only with both of its prices", () => {
    const flex = { input_cost_per_token_flex: 5e-7 };
    expect(only(flex)?.price.tiers).toBeUndefined();
    expect(only({ output_cost_per_token_flex: 5e-7 })?.price.tiers).toBeUndefined();
    expect(only({ ...flex, output_cost_per_token_flex: 1e-6 })?.price.tiers).toEqual({
      flex: { input: 0.5, output: 1 },
    });
  });

  test("has the prices above each of its limits", () => {
    const at = (k: number, input: number, output: number) => ({ above: k * 1000, input, output });
    const long = {
      input_cost_per_token_above_500k_tokens: 9e-6,
      input_cost_per_token_above_200k_tokens: 3e-6,
      output_cost_per_token_above_200k_tokens: 4e-6,
      cache_creation_input_token_cost_above_1hr: 5e-6,
    };
    expect(only(long)?.price).toEqual({
      ...plainRates,
      cache_write_1h: 5,
      long_context: [at(200, 3, 4), at(500, 9, 2)],
    });
    expect(read({ ...costs, input_cost_per_token_above_200k_tokens: "x" }).models).toEqual([]);
    const foreign = { my_input_cost_per_token_above_200k_tokens: 1, output_cost_per_token_above_200k: 1 };
    expect(only(foreign)?.price).toEqual(plainRates);
  });
});

describe("an entry of models.dev", () => {
  const read = (entry: object, vendor = "groq") =>
    readPrices(JSON.stringify({ [vendor]: { models: { m: entry } } }));
  const cost = { input: 1, output: 2 };

  test("has what it states, and nothing else", () => {
    expect(read({ cost }).models).toEqual([
      {
        id: "m",
        vendor: "groq",
        displayName: null,
        contextWindow: null,
        maxOutputTokens: null,
        price: plainRates,
        capabilities: { tools: false, vision: false, reasoning: false },
      },
    ]);
    const whole = {
      name: "M",
      cost: { ...cost, cache_read: 0.1, cache_write: 1.25 },
      limit: { context: 9, output: 8 },
      modalities: { input: ["text", "image"], output: ["text", "audio"] },
      tool_call: true,
      reasoning: true,
      structured_output: false,
    };
    expect(read(whole, "mistral").models).toEqual([
      {
        id: "m",
        vendor: "mistral",
        displayName: "M",
        contextWindow: 9,
        maxOutputTokens: 8,
        price: { input: 1, output: 2, cached_input: 0.1, cache_write: 1.25 },
        capabilities: { tools: true, vision: true, reasoning: true, structured_output: false },
      },
    ]);
  });

  test.each([
    [{ input: 1 }, "without a price per token"],
    [{ output: 1 }, "without a price per token"],
    [undefined, "without a price per token"],
    ["free", "without a price per token"],
  ])("with the cost %j is left out", (broken, reason) => {
    expect(read({ cost: broken })).toMatchObject({ models: [], leftOut: { [reason]: 1 }, invalid: [] });
  });

  test("that writes no text is left out, and one that does not say what it writes is not", () => {
    expect(read({ cost, modalities: { output: ["image"] } }).leftOut).toEqual({ "without text output": 1 });
    expect(read({ cost, modalities: { output: "image" } }).models).toHaveLength(1);
    expect(read({ cost, modalities: { input: ["image"] } }).models).toHaveLength(1);
    expect(read({ cost, modalities: 5 }).models[0]?.capabilities["vision"]).toBe(false);
  });

  test("with anything else in its place is passed over", () => {
    const dump = {
      openai: { models: { m: { cost }, n: 5 } },
      other: { name: "x" },
      more: 7,
      last: { models: [] },
    };
    expect(readPrices(JSON.stringify(dump)).models.map(({ id }) => id)).toEqual(["m"]);
  });

  test("counts what it leaves out", () => {
    const dump = { a: { models: { m: {}, n: {} } }, b: { models: { o: {} } } };
    expect(readPrices(JSON.stringify(dump)).leftOut).toEqual({ "without a price per token": 3 });
  });

  test("has the prices above each of its limits, whichever way they are written", () => {
    const above = (size: unknown, usd: number) => ({ tier: { size }, input: usd, output: usd });
    const long = (more: object) => read({ cost: { ...cost, ...more } }).models[0]?.price.long_context;
    const at = (limit: number, usd: number) => ({ ...plainRates, above: limit, input: usd, output: usd });
    expect(long({ tiers: [above(500, 5), above(100, 3), above(300, 4)] })).toEqual([
      at(100, 3),
      at(300, 4),
      at(500, 5),
    ]);
    expect(long({ context_over_200k: { input: 6, output: 6 } })).toEqual(at(200_000, 6));
    expect(long({ tiers: [above(500_000, 5)], context_over_200k: { input: 6, output: 6 } })).toEqual(
      at(500_000, 5),
    );
    expect(long({ tiers: [above(100, 3)], context_over_200k: { input: 6, output: 6 } })).toEqual(at(100, 3));
    const broken = [above("x", 3), { tier: 5, input: 1, output: 1 }, { tier: { size: 9 }, input: 1 }, 7];
    for (const each of broken) expect(long({ tiers: [each] })).toBeUndefined();
    expect(long({ tiers: 5, context_over_200k: { input: 6 } })).toBeUndefined();
  });
});

test("a file of models.dev is told from one of LiteLLM by what its entries have", () => {
  expect(readPrices('{"a":5,"b":{"models":{}}}').source).toBe("models.dev");
  expect(readPrices('{"a":5,"b":{"litellm_provider":null}}').source).toBe("LiteLLM");
  expect(() => readPrices("[]")).toThrow("it is not a JSON object");
  expect(() => readPrices("{")).toThrow("it is not JSON");
  expect(() => readPrices('{"a":{"models":5}}')).toThrow("it is neither LiteLLM's price file nor");
});

test("of a name that several vendors sell, the first one's is taken, and the order stays", () => {
  const [first, second] = ["a", "b"].map((vendor) => ({ ...readPrices(liteLlm).models[0], id: "x", vendor }));
  const [other] = readPrices(modelsDev).models;
  if (first === undefined || second === undefined || other === undefined) throw new Error("there are models");
  const all = [first, other, second] as Parameters<typeof choose>[0];
  expect(choose(all, {}).map(({ id, vendor }) => [id, vendor])).toEqual([
    ["x", "a"],
    ["claude-opus-5-5", "anthropic"],
  ]);
  expect(choose(all, { vendor: "b", match: "x*" }).map(({ vendor }) => vendor)).toEqual(["b"]);
  expect(choose(all, { vendor: "a", match: "y" })).toEqual([]);
});

describe("what is written", () => {
  test("has every part of a price, with a decimal point and without noise", () => {
    const [model] = readPrices(modelsDev).models;
    if (model === undefined) throw new Error("there is a model");
    const price = {
      ...{ input: 1, output: 0.000001, cached_input: 0, cache_write: 1.5, cache_write_1h: 2 },
      long_context: { above: 5, input: 10, output: 20, cached_input: 1, cache_write: 12.5 },
      web_search: 10,
      tiers: { flex: { input: 0.5, output: 1, cached_input: 0.1 } },
    };
    const named = { ...model, id: 'a"b\u007f', vendor: "_Odd Vendor!", displayName: null, price };
    expect(modelsToml([named], "a list", "today")).toBe(`[[models]]
id = "a\\"b\\u007F"
provider = "p_odd-vendor-"
context_window = 1000000
max_output_tokens = 128000
price = { input = 1.0, output = 0.000001, cached_input = 0.0, cache_write = 1.5, cache_write_1h = 2.0, long_context = { above = 5, input = 10.0, output = 20.0, cached_input = 1.0, cache_write = 12.5 }, web_search = 10.0, tiers = { flex = { input = 0.5, output = 1.0, cached_input = 0.1 } } }  # a list, today
capabilities = { tools = true, vision = true, reasoning = true }
`);
  });

  test("leaves out what is not known", () => {
    const [model] = readPrices(modelsDev).models;
    if (model === undefined) throw new Error("there is a model");
    const bare = { ...model, contextWindow: null, maxOutputTokens: null, price: plainRates };
    expect(modelsToml([bare, bare], "s", "d")).toBe(
      Array(2)
        .fill(
          '[[models]]\nid = "claude-opus-5-5"\nprovider = "anthropic"\ndisplay_name = "Claude Opus 5.5"\nprice = { input = 1.0, output = 2.0 }  # s, d\ncapabilities = { tools = true, vision = true, reasoning = true }\n',
        )
        .join("\n"),
    );
  });
});
