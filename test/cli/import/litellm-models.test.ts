import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/base/json.ts";
import { type ImportedConfig, importLiteLlmConfig } from "../../../src/cli/import/litellm-config.ts";
import { PriceList } from "../../../src/cli/import/price-list.ts";
import { readPrices } from "../../../src/cli/import/prices.ts";
import { load } from "../../config/fixtures.ts";

const read = (document: JsonObject, prices?: PriceList): ImportedConfig =>
  importLiteLlmConfig(JSON.stringify(document), { env: {}, ...(prices === undefined ? {} : { prices }) });

const model = (id: string, upstream = "openai/our-gpt", params: JsonObject = {}, info: JsonObject = {}) => ({
  model_name: id,
  litellm_params: { model: upstream, ...params },
  model_info: info,
});

const price = { input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 };
const priceLine = "price = { input = 1.0, output = 2.0 }";

/** What follows the providers. */
function modelsOf({ toml }: ImportedConfig): string {
  return toml.slice(toml.indexOf("[[models]]"));
}

describe("a whole file", () => {
  test("is written as if by hand: providers, then models, with a blank line between", () => {
    const info = {
      ...price,
      max_input_tokens: 1000,
      max_output_tokens: 100,
      supports_function_calling: true,
      supports_vision: false,
      supports_reasoning: true,
      supports_response_schema: true,
    };
    const document = {
      model_list: [model("a", "openai/gpt-a", {}, info), model("b", "anthropic/claude-b", price)],
      router_settings: { model_group_alias: { c: "a", d: { model: "a" } }, fallbacks: [{ a: ["b"] }] },
    };
    expect(read(document)).toEqual({
      toml: `[providers.openai]
kind = "openai"
api_key = "env:OPENAI_API_KEY"

[providers.anthropic]
kind = "anthropic"
api_key = "env:ANTHROPIC_API_KEY"

[[models]]
id = "a"
context_window = 1000
max_output_tokens = 100
capabilities = { tools = true, vision = false, reasoning = true, structured_output = true }
aliases = ["c", "d"]
fallbacks = ["b"]
[[models.deployments]]
provider = "openai"
upstream_model = "gpt-a"
${priceLine}

[[models]]
id = "b"
[[models.deployments]]
provider = "anthropic"
upstream_model = "claude-b"
${priceLine}
`,
      models: 2,
      providers: 2,
      check: [],
      dropped: [],
    });
  });

  test.each([
    ["nothing", ""],
    ["no object", "- a\n- b"],
    ["no list of models", "model_list: 5"],
    ["entries that are none", "model_list: [1, {}, {model_name: x}, {litellm_params: {model: y}}]"],
    ["names that are empty", 'model_list: [{model_name: "", litellm_params: {model: openai/x}}]'],
  ])("with %s in it gives an empty configuration", (_, yaml) => {
    expect(importLiteLlmConfig(yaml, { env: {} })).toEqual({
      toml: "",
      models: 0,
      providers: 0,
      check: [],
      dropped: [],
    });
  });

  test("turns wildcards into models by the catalog, where there is one", () => {
    const same = ["openai/*", "anthropic/claude-*", "mistral/*"].map((name) => model(name, name));
    const { toml, check } = read({ model_list: same });
    expect(toml).toContain(
      '[providers.openai]\nkind = "openai"\napi_key = "env:OPENAI_API_KEY"\nmodels = "catalog"\n',
    );
    expect(toml).toContain('models = ["claude-*"]\n');
    expect(toml).toContain('models = "catalog"\ncatalog = "mistral"\n');
    expect(check[0]).toBe("openai/*: serves the models of the built-in catalog at list price, and no others");
    const { settings } = load(toml, { env: { OPENAI_API_KEY: "a" } });
    expect(
      settings.models.some(({ id, priceSource }) => id === "gpt-6-luna" && priceSource === "catalog"),
    ).toBe(true);
  });

  test("tells of wildcards that no catalog serves", () => {
    const wildcards = [model("openai/*", "openai/x"), model("x", "openai/*"), model("ollama/*", "ollama/*")];
    const told = ["openai/*", "x", "ollama/*"].map(
      (id) => `${id}: no built-in catalog for this wildcard; list the models one by one`,
    );
    expect(read({ model_list: wildcards }).dropped).toEqual(told);
  });
});

describe("a model", () => {
  test("with several deployments has them all, and what its first entry says of it", () => {
    const { toml, dropped } = read({
      model_list: [
        model("a", "openai/one", price, { max_tokens: 50 }),
        model("a", "groq/two", price, { max_tokens: 70, supports_vision: true }),
      ],
    });
    expect(toml).toContain(
      '[[models]]\nid = "a"\nmax_output_tokens = 50\n[[models.deployments]]\nprovider = "openai"\n',
    );
    expect(toml).toContain(
      `${priceLine}\n[[models.deployments]]\nprovider = "groq"\nupstream_model = "two"\n${priceLine}\n`,
    );
    expect(dropped).toEqual([]);
  });

  test.each([
    [{ max_output_tokens: 9, max_tokens: 5 }, "max_output_tokens = 9"],
    [{ max_tokens: 5 }, "max_output_tokens = 5"],
    [{ max_output_tokens: 0, max_tokens: "5" }, null],
    [{ max_input_tokens: 7 }, "context_window = 7"],
    [{ max_input_tokens: 1 }, "context_window = 1"],
  ])("has the limits of %j", (info, line) => {
    const lines = modelsOf(read({ model_list: [model("a", "openai/x", price, info)] })).split("\n");
    expect(lines[2]).toBe(line ?? "[[models.deployments]]");
  });

  test("has a capability only where the file speaks of it", () => {
    const of = (info: JsonObject) => modelsOf(read({ model_list: [model("a", "openai/x", price, info)] }));
    expect(of({ supports_vision: "yes" })).not.toContain("capabilities");
    expect(of({ supports_vision: true })).toContain("capabilities = { vision = true }");
  });
});

describe("the price of a deployment", () => {
  const priceOf = (params: JsonObject, info: JsonObject = {}, upstream = "openai/our-gpt") => {
    const imported = read({ model_list: [model("a", upstream, params, info)] });
    return { line: /^price = (.*)$/m.exec(imported.toml)?.[1] ?? null, check: imported.check };
  };

  test("is that of its parameters, and else of its information", () => {
    expect(priceOf(price, { input_cost_per_token: 9e-6, output_cost_per_token: 9e-6 }).line).toBe(
      "{ input = 1.0, output = 2.0 }",
    );
    expect(priceOf({}, price).line).toBe("{ input = 1.0, output = 2.0 }");
    const caches = { cache_read_input_token_cost: 1e-7, cache_creation_input_token_cost: 1.25e-6 };
    expect(priceOf({ ...price, ...caches }).line).toBe(
      "{ input = 1.0, output = 2.0, cached_input = 0.1, cache_write = 1.25 }",
    );
    expect(priceOf({ ...price, ...caches }).check).toEqual([]);
  });

  test("is the list price where the file has none, or half of one, and that is told", () => {
    const told = "a: no price in the file; using the list prices of the built-in catalog";
    for (const half of [{}, { input_cost_per_token: 1e-6 }, { output_cost_per_token: 1e-6 }]) {
      const { line, check } = priceOf(half, {}, "openai/gpt-5.6");
      expect(line).toStartWith(
        "{ input = 4.0, output = 20.0, cached_input = 0.4, cache_write = 5.0, cache_write_24h = 10.0, long_context = ",
      );
      expect(check).toEqual([told]);
    }
    const azure = { api_base: "https://r.azure.com", base_model: "azure/gpt-5.6" };
    expect(priceOf(azure, {}, "azure/ours").check).toEqual([told]);
  });

  test("has everything that a list price consists of", () => {
    expect(priceOf({}, {}, "anthropic/claude-opus-5").line).toBe(
      "{ input = 5.0, output = 25.0, cached_input = 0.5, cache_write = 6.25, cache_write_1h = 10.0, web_search = 10.0, web_fetch = 0.0, tool_search = 0.0 }",
    );
  });

  test("is none where nobody knows one, and that is told once", () => {
    const none =
      "a: no price of our-gpt is known, so only token-budget keys can use it; add a price or free = true to its entry, or pass --prices FILE";
    expect(priceOf({})).toEqual({ line: null, check: [none] });
    const two = read({ model_list: [model("a"), model("a", "groq/ours")] });
    expect(two.check).toEqual([none, none.replace("our-gpt", "ours")]);
  });
});

describe("a price list beside the file", () => {
  const entry = (vendor: string, usd: number, more: JsonObject = {}) => ({
    litellm_provider: vendor,
    mode: "chat",
    input_cost_per_token: usd / 1e6,
    output_cost_per_token: usd / 1e6,
    ...more,
  });
  const limits = { max_input_tokens: 1000, max_output_tokens: 100, supports_vision: true };
  const prices = new PriceList(
    readPrices(
      JSON.stringify({
        "our-gpt": entry("openai", 1, limits),
        "azure/our-gpt": entry("azure", 2),
        "gpt-5.6": entry("openai", 3),
        "eu.anthropic.claude-x-20260101-v1:0": entry("bedrock_converse", 4),
        "vertex_ai/claude-x@20260101": entry("vertex_ai-anthropic_models", 5),
        "claude-y": entry("anthropic", 6),
      }),
    ),
  );
  const priced = (upstream: string, params: JsonObject = {}, info: JsonObject = {}) => {
    const { toml, check } = read({ model_list: [model("a", upstream, params, info)] }, prices);
    return { input: Number(/^price = \{ input = ([\d.]+)/m.exec(toml)?.[1]), check, toml };
  };
  const azure = { api_base: "https://r.azure.com" };
  const region = { aws_region_name: "eu-west-1" };

  test.each([
    ["openai/our-gpt", {}, 1],
    ["azure/our-gpt", azure, 2],
    ["azure/ours", { ...azure, base_model: "azure/our-gpt" }, 2],
    ["openai/gpt-5.6", {}, 3],
    ["bedrock/eu.anthropic.claude-x-20260101-v1:0", region, 4],
    ["bedrock/converse/eu.anthropic.claude-x-20260101-v1:0", region, 4],
    ["bedrock/eu.anthropic.claude-x-20260303-v1:0", region, 4],
    ["vertex_ai/claude-x@20260101", { vertex_project: "p" }, 5],
  ])("gives %s the price of its own vendor, and says nothing of it", (upstream, params, usd) => {
    expect(priced(upstream, params)).toMatchObject({ input: usd, check: [] });
  });

  test("gives that of another vendor where its own is not listed, and tells so", () => {
    const { input, check } = priced("vertex_ai/claude-y", { vertex_project: "p" });
    expect(input).toBe(6);
    expect(check).toEqual(["a: no price in the file; using the price of claude-y at anthropic; check it"]);
  });

  test("comes after the file itself, and before the list prices in the program", () => {
    expect(
      priced("openai/our-gpt", { input_cost_per_token: 9e-6, output_cost_per_token: 9e-6 }),
    ).toMatchObject({
      input: 9,
      check: [],
    });
    expect(priced("openai/gpt-5.6").input).toBe(3);
    const { input, check } = priced("anthropic/claude-opus-5");
    expect(input).toBe(5);
    expect(check).toEqual(["a: no price in the file; using the list prices of the built-in catalog"]);
    expect(priced("openai/unheard-of").check).toEqual([
      "a: no price of unheard-of is known, so only token-budget keys can use it; add a price or free = true to its entry, or pass --prices FILE",
    ]);
  });

  test("fills in limits and capabilities that the file does not state", () => {
    const { toml } = priced("openai/our-gpt", {}, { max_output_tokens: 7, supports_vision: false });
    expect(toml).toContain(
      'id = "a"\ncontext_window = 1000\nmax_output_tokens = 7\ncapabilities = { tools = false, vision = false, reasoning = false }\n',
    );
    expect(priced("openai/our-gpt").toml).toContain("context_window = 1000\nmax_output_tokens = 100\n");
  });

  test("may be that of models.dev, which has other names for some vendors", () => {
    const cost = (usd: number) => ({ models: { "claude-x": { cost: { input: usd, output: usd } } } });
    const dump = {
      google: cost(2),
      "amazon-bedrock": cost(3),
      "google-vertex": cost(4),
      azure: cost(5),
      openai: cost(6),
    };
    const list = new PriceList(readPrices(JSON.stringify(dump)));
    const found = (vendor: string) => list.find(vendor, ["claude-x"])?.model.price.input;
    expect(
      ["gemini", "bedrock", "bedrock_converse", "vertex_ai", "azure_ai", "azure", "openai"].map(found),
    ).toEqual([2, 3, 3, 4, 5, 5, 6]);
    expect(list.find("nobody", ["claude-x"])).toMatchObject({
      isOtherVendors: true,
      model: { vendor: "google" },
    });
    expect(list.find("openai", ["claude-z"])).toBeNull();
  });
});

describe("timeouts", () => {
  const of = (params: JsonObject, more: JsonObject = {}) =>
    read({ model_list: [model("a", "openai/x", { ...price, ...params })], ...more });
  const line = (imported: ImportedConfig) => /^timeouts = (.*)$/m.exec(imported.toml)?.[1] ?? null;

  test.each([
    [{ timeout: 60 }, "{ total = 60 }"],
    [{ timeout: 0.5 }, "{ total = 0.5 }"],
    [{ stream_timeout: 2.5 }, "{ stream_first_byte = 2.5 }"],
    [{ timeout: "90", stream_timeout: 30 }, "{ stream_first_byte = 30, total = 90 }"],
    [{ timeout: 0 }, null],
    [{ timeout: -1, stream_timeout: "" }, null],
    [{ timeout: "soon", stream_timeout: " " }, null],
  ])("%j of a deployment are its provider's", (params, expected) => {
    const imported = of(params);
    expect(line(imported)).toBe(expected);
    expect(imported.dropped).toEqual([]);
  });

  test("of the router hold before those of the library, and both only where a deployment has none", () => {
    const library = { request_timeout: 100, stream_timeout: 10 };
    const router = { timeout: 200, stream_timeout: 20 };
    expect(line(of({}, { litellm_settings: library }))).toBe("{ stream_first_byte = 10, total = 100 }");
    expect(line(of({}, { litellm_settings: library, router_settings: router }))).toBe(
      "{ stream_first_byte = 20, total = 200 }",
    );
    expect(line(of({ timeout: 50 }, { router_settings: router }))).toBe(
      "{ stream_first_byte = 20, total = 50 }",
    );
    expect(of({}, { litellm_settings: library, router_settings: router }).dropped).toEqual([]);
    expect(
      of({}, { litellm_settings: { timeout: 5 }, router_settings: { request_timeout: 5 } }).dropped,
    ).toEqual(["litellm_settings.timeout: not supported", "router_settings.request_timeout: not supported"]);
  });

  test.each([
    [300, null],
    [301, 301],
    [600, 600],
    [3600, 3600],
    [6000, 3600],
  ])("of %i seconds raise what an exchange may take, to an hour at most", (timeout, limit) => {
    const { toml, check } = of({ timeout });
    expect(toml.startsWith("[server]")).toBe(limit !== null);
    if (limit !== null)
      expect(toml).toStartWith(`[server]\nrequest_timeout = ${limit}\n\n[providers.openai]\n`);
    expect(check).toEqual(
      timeout > 3600 ? [`a timeout of ${timeout} s: reduced to the maximum of one hour`] : [],
    );
  });
});

describe("settings", () => {
  const models = [model("a", "openai/x", price), model("b", "openai/y", price)];

  test("with fallbacks give each model those that are here", () => {
    const { toml, dropped } = read({
      model_list: models,
      litellm_settings: { fallbacks: [{ a: ["b", "gone"] }, { b: ["gone"], c: ["a"] }, 5] },
    });
    expect(toml).toContain('id = "a"\nfallbacks = ["b"]\n');
    expect(toml).not.toContain('id = "b"\nfallbacks');
    expect(dropped).toEqual([
      "fallbacks of b: its models were not converted",
      "fallbacks of c: its models were not converted",
    ]);
  });

  test("with several fallbacks keep their order", () => {
    const more = [...models, model("c", "openai/z", price)];
    const { toml } = read({ model_list: more, litellm_settings: { fallbacks: [{ a: ["c", "b"] }] } });
    expect(toml).toContain('id = "a"\nfallbacks = ["c", "b"]\n');
  });

  test("with aliases name what is not here", () => {
    const aliases = { x: "a", y: { model: "b" }, z: "gone", w: 5 };
    const { toml, dropped } = read({ model_list: models, router_settings: { model_group_alias: aliases } });
    expect(toml).toContain('id = "a"\naliases = ["x"]\n');
    expect(toml).toContain('id = "b"\naliases = ["y"]\n');
    expect(dropped).toEqual([
      "z: an alias of gone, which was not converted",
      "w: an alias of null, which was not converted",
    ]);
  });

  test("without a counterpart are told one by one, with what there is instead", () => {
    const { check, dropped } = read({
      model_list: models,
      litellm_settings: { cache: true, fallbacks: "none", model_group_alias: 5 },
      router_settings: { num_retries: 2 },
      general_settings: { master_key: "sk-1234", alerting: ["slack"] },
      environment_variables: { A: "b" },
    });
    expect(dropped).toEqual([
      "litellm_settings.cache: not supported",
      "router_settings.num_retries: Sluice retries and changes to another deployment by itself",
      "general_settings.master_key: set SLUICE_ADMIN_TOKEN instead; create keys with `sluice keys create`",
      "general_settings.alerting: set [alerts] url to a webhook",
    ]);
    expect(check).toEqual(["environment_variables: set them in the environment of the gateway"]);
  });

  test("that are no objects say nothing", () => {
    const none = {
      litellm_settings: 5,
      router_settings: "x",
      general_settings: [],
      environment_variables: 1,
    };
    expect(read({ model_list: models, ...none }).dropped).toEqual([]);
  });
});
