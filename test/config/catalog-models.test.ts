import { describe, expect, test } from "bun:test";
import type { StoredPrices } from "../../src/config/catalog/stored-prices.ts";
import { load, problemsOf, warningsOf } from "./fixtures.ts";

const env = { KEY: "a-key" };
const openai = (lines: string, name = "openai") =>
  `[providers.${name}]\nkind = "openai"\napi_key = "env:KEY"\n${lines}\n`;
const modelsOf = (toml: string) => load(toml, { env }).settings.models;
const named = (toml: string, id: string) => modelsOf(toml).find((model) => model.id === id);

describe("models by the built-in catalog", () => {
  test('"catalog" serves every model of the kind at its list price, with its day and under its vendor\'s name too', () => {
    const models = modelsOf(openai('models = "catalog"'));
    expect(models.length).toBeGreaterThan(10);
    expect(models.every(({ priceSource, free }) => priceSource === "catalog" || free)).toBe(true);
    expect(models.find(({ id }) => id === "gpt-6-luna")).toMatchObject({
      price: { input: 100_000, output: 500_000 },
      priceChecked: "2026-11-19",
      aliases: ["openai/gpt-6-luna"],
      listAliases: false,
    });
  });

  test("patterns choose among them", () => {
    const ids = modelsOf(openai('models = ["gpt-6*a", "whisper-1"]')).map(({ id }) => id);
    expect(ids).toEqual(["gpt-6-astra", "gpt-6-luna", "gpt-6.1-terra", "whisper-1"]);
    expect(modelsOf(openai('models = ["gpt-4o", "gpt-4o-2024-11-20"]'))).toMatchObject([
      {
        id: "gpt-4o",
        listed: true,
        price: { input: 2_500_000, output: 10_000_000, cached_input: 1_250_000 },
      },
      { id: "gpt-4o-2024-11-20", listed: false },
    ]);
  });

  test("another vendor's prices go with `catalog`", () => {
    const toml = '[providers.m]\nkind = "openai-compatible"\nbase_url = "https://api.mistral.ai/v1"\n';
    const ids = modelsOf(`${toml}models = ["mistral-*"]\ncatalog = "mistral"\n`).map(({ id }) => id);
    expect(ids.slice(0, 3)).toEqual(["mistral-medium-2604", "mistral-large-2512", "mistral-embed"]);
    expect(ids).toContain("mistral-large-latest");
  });

  test("a markup multiplies every rate, rounded up to a millionth of a dollar, and leaves limits in tokens", () => {
    const price = named(openai('models = ["gpt-6*"]\nmarkup = 1.2345'), "gpt-6-luna")?.price;
    expect(price).toMatchObject({
      input: 123_450,
      output: 617_250,
      cached_input: 12_345,
      // 0.125 × 1.2345 = 0.1543125
      cache_write: 154_313,
      long_context: { above: 272_000, input: 246_900 },
      extras: { web_search: 12_345_000_000 },
    });
  });

  test("an entry of the file stands above the catalog, by its id and by its aliases", () => {
    const own = '[[models]]\nid = "mine"\naliases = ["gpt-6-luna"]\nprovider = "openai"\nfree = true\n';
    const same = '[[models]]\nid = "gpt-6-astra"\nprovider = "openai"\nprice = { input = 1, output = 2 }\n';
    const models = modelsOf(`${openai('models = ["gpt-6-*a"]')}${own}${same}`);
    expect(models.map(({ id, priceSource }) => [id, priceSource])).toEqual([
      ["mine", null],
      ["gpt-6-astra", "config"],
    ]);
  });

  test("a plain id that two providers have leads to the first, and each provider's own id to it", () => {
    const toml = openai('models = ["gpt-6-luna"]') + openai('models = ["gpt-6-luna"]', "second");
    const models = modelsOf(toml).map(({ id, aliases, listed, deployments: [first] }) => ({
      id,
      aliases,
      listed,
      at: `${first?.provider} ${first?.upstreamModel}`,
    }));
    expect(models).toEqual([
      { id: "gpt-6-luna", aliases: ["openai/gpt-6-luna"], listed: true, at: "openai gpt-6-luna" },
      { id: "second/gpt-6-luna", aliases: [], listed: false, at: "second gpt-6-luna" },
    ]);
    expect(warningsOf(toml, { env })).toEqual([]);
  });

  test("an id that begins with another provider's name does not take that provider's own id", () => {
    const groq =
      '[providers.groq]\nkind = "openai-compatible"\nbase_url = "https://api.groq.com/openai/v1"\n';
    const rest = 'api_key = "env:KEY"\ncatalog = "groq"\nmodels = ["openai/gpt-oss-20b"]\n';
    const together = rest.replace('"groq"', '"together"').replace("gpt-oss-20b", "gpt-oss-*");
    const openaiNamed =
      `[providers.openai]\nkind = "openai-compatible"\nbase_url = "https://x.example/v1"\n${rest}`
        .replace('"groq"', '"cerebras"')
        .replace("openai/gpt-oss-20b", "gpt-oss-120b");
    const toml = `${groq}${rest}[providers.together]\nkind = "openai-compatible"\nbase_url = "https://t.example/v1"\n${together}${openaiNamed}`;
    const leadsTo = Object.fromEntries(
      modelsOf(toml).flatMap(({ id, aliases, price, deployments: [first] }) =>
        [id, ...aliases].map((name) => [name, `${first?.provider} ${first?.upstreamModel} ${price?.input}`]),
      ),
    );
    expect(leadsTo).toMatchObject({
      "openai/gpt-oss-20b": "groq openai/gpt-oss-20b 75000",
      "groq/openai/gpt-oss-20b": "groq openai/gpt-oss-20b 75000",
      "together/openai/gpt-oss-20b": "together openai/gpt-oss-20b 50000",
      "gpt-oss-120b": "openai gpt-oss-120b 350000",
      "openai/gpt-oss-120b": "openai gpt-oss-120b 350000",
      "together/openai/gpt-oss-120b": "together openai/gpt-oss-120b 150000",
    });
  });

  test("a model that Bedrock runs in the provider's own region costs what it costs there", () => {
    const priceIn = (
      region: string,
      id: string,
      prices: StoredPrices = { version: "none", catalogs: {} },
    ) => {
      const toml = `[providers.b]\nkind = "bedrock"\nregion = "${region}"\napi_key = "env:KEY"\nmodels = "catalog"\n`;
      const { price } = load(toml, { env, prices }).settings.models.find((model) => model.id === id) ?? {};
      return [price?.input, price?.output];
    };
    const model = "minimax.minimax-m2.1";
    expect(priceIn("us-east-1", model)).toEqual([300_000, 1_200_000]);
    expect(priceIn("eu-central-1", model)).toEqual([360_000, 1_440_000]);
    expect(priceIn("eu-west-2", model)).toEqual([470_000, 1_860_000]);
    expect(priceIn("sa-east-1", "meta.llama3-70b-instruct-v1:0")).toEqual([4_450_000, 5_880_000]);
    // An operator's price list has none of one region.
    const stored = { id: model, price: { input: 0.2, output: 0.8 } };
    const prices = { version: "v", catalogs: { bedrock: [stored] } };
    expect(priceIn("us-east-1", model, prices)).toEqual([200_000, 800_000]);
    expect(priceIn("eu-west-2", model, prices)).toEqual([470_000, 1_860_000]);
  });

  test("fallbacks may name a model of the catalog", () => {
    const own = '[[models]]\nid = "mine"\nprovider = "openai"\nfree = true\nfallbacks = ["gpt-6-luna"]\n';
    expect(named(`${openai('models = "catalog"')}${own}`, "mine")?.fallbacks).toEqual(["gpt-6-luna"]);
  });

  test("lines of batches run as the provider says, natively only where its batches have a price", () => {
    const anthropic = (batch: string, kind = "anthropic") =>
      `[providers.p]\nkind = "${kind}"\napi_key = "env:KEY"\nmodels = "catalog"\nbatch = "${batch}"\n`;
    const batchOf = (id: string) => named(anthropic("native"), id)?.batch;
    expect([batchOf("claude-opus-5-5"), batchOf("claude-3-haiku-20240307")]).toEqual(["native", "gateway"]);
    expect(named(anthropic("off", "openai"), "gpt-6-luna")?.batch).toBe("off");
    expect(problemsOf(anthropic("native", "openai"), { env })).toEqual([
      'providers.p.batch: cannot be "native": only kind "anthropic" can',
    ]);
  });

  test("a name without a known price is warned of with the line to add, or left to token budgets", () => {
    expect(warningsOf(openai('models = ["gpt-6-luna", "gpt-9"]'), { env })).toContain(
      'provider "openai": no model of the catalog "openai" matches "gpt-9"; add [[models]] with id = "gpt-9", provider = "openai" and its price',
    );
    const budget = openai('models = ["gpt-9"]\nunpriced = "budget-only"');
    expect(named(budget, "gpt-9")).toMatchObject({ price: null, priceSource: null, free: false });
  });

  test.each([
    ['models = "all"', "providers.openai.models:"],
    [
      'models = "catalog"\ncatalog = "opneai"',
      'providers.openai.catalog: catalog "opneai" does not exist, did you mean "openai"?',
    ],
    ['models = "catalog"\nmarkup = 0', "providers.openai.markup:"],
    ['models = "catalog"\nmarkup = -1.2', "providers.openai.markup: must be a number above 0, not -1.2"],
    ['models = "catalog"\nmarkup = "1.2"', "providers.openai.markup: must be a number"],
    ['models = "catalog"\ncost_factor = 1e300', "providers.openai.cost_factor: must be"],
    ['models = "catalog"\ncost_factor = nan', "providers.openai.cost_factor: must be"],
    ['models = "catalog"\nmarkup = 1.23456', "providers.openai.markup: must have four decimals at most"],
    [
      'models = "catalog"\ncost_factor = 1.00001',
      "providers.openai.cost_factor: must have four decimals at most",
    ],
    ["cost_factor = 1.1", 'providers.openai.cost_factor: needs models = "catalog", or patterns'],
    ["markup = 2", 'providers.openai.markup: needs models = "catalog", or patterns'],
    ['models = "catalog"\nunpriced = "free"', "providers.openai.unpriced:"],
  ])("%s is a problem", (lines, problem) => {
    expect(problemsOf(openai(lines), { env }).join("\n")).toContain(problem);
  });

  test("a kind without a catalog has to name one", () => {
    const toml =
      '[providers.x]\nkind = "openai-compatible"\nbase_url = "http://127.0.0.1:1/v1"\nmodels = "catalog"\n';
    expect(problemsOf(toml)[0]).toStartWith(
      'providers.x.catalog: missing; kind "openai-compatible" has no catalog',
    );
  });
});
