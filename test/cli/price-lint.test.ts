import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { lintPrices } from "../../src/cli/price-lint.ts";
import type { ModelConfig } from "../../src/config/schema.ts";
import { newPlace, sluice } from "./fixtures.ts";

/** Listed at 5 and 25, 0.5 cached, 6.25 and 10 to write, 10 for a thousand searches. */
const listed = { id: "house", provider: "anthropic", upstream_model: "claude-opus-5" } as const;

const doubts = (price: ModelConfig["price"], model: Partial<ModelConfig> = {}) =>
  lintPrices({ ...listed, ...model, ...(price === undefined ? {} : { price }) }).map(
    ({ path, message }) => `${path} ${message}`,
  );

const perMillion = (usd: number, list: number) =>
  `is ${usd} USD per million tokens, and the list price is ${list}`;

describe("a price that is off its list price is doubted:", () => {
  test("one per thousand tokens", () => {
    expect(doubts({ input: 0.005, output: 0.025 })).toEqual([
      `price.input ${perMillion(0.005, 5)}; it looks like a price per thousand`,
      `price.output ${perMillion(0.025, 25)}; it looks like a price per thousand`,
    ]);
  });

  test("one per token", () => {
    expect(doubts({ input: 0.000005, output: 0.000025 })).toEqual([
      `price.input ${perMillion(0.000005, 5)}; it looks like a price per token`,
      `price.output ${perMillion(0.000025, 25)}; it looks like a price per token`,
    ]);
  });

  test("one that is merely far away", () => {
    expect(doubts({ input: 100.5, output: 1.24 })).toEqual([
      `price.input ${perMillion(100.5, 5)}`,
      `price.output ${perMillion(1.24, 25)}`,
    ]);
    expect(doubts({ input: 0.02, output: 25 })).toEqual([`price.input ${perMillion(0.02, 5)}`]);
    expect(doubts({ input: 500, output: 25 })).toEqual([`price.input ${perMillion(500, 5)}`]);
  });

  test("those that are for something else than tokens, in their own units", () => {
    const doubted = (id: string, price: ModelConfig["price"]) => doubts(price, { upstream_model: id });
    expect(doubted("whisper-1", { audio_minutes: 0.36 })).toEqual([
      "price.audio_minutes is 0.36 USD per minute of audio in, and the list price is 0.006",
    ]);
    expect(doubted("tts-1", { characters: 0.000015 })).toEqual([
      "price.characters is 0.000015 USD per million characters, and the list price is 15; it looks like a price per character",
    ]);
    expect(doubted("tts-1", { characters: 0.015 })).toEqual([
      "price.characters is 0.015 USD per million characters, and the list price is 15; it looks like a price per thousand",
    ]);
    expect(doubted("text-embedding-3-small", { input: 0.00002 })).toEqual([
      `price.input ${perMillion(0.00002, 0.02)}; it looks like a price per thousand`,
    ]);
  });

  test("those of caches, tools, long contexts, tiers and deployments too", () => {
    expect(doubts({ input: 5, output: 25, cached_input: 0.0005, cache_write_1h: 0.01 })).toEqual([
      `price.cached_input ${perMillion(0.0005, 0.5)}; it looks like a price per thousand`,
      `price.cache_write_1h ${perMillion(0.01, 10)}; it looks like a price per thousand`,
    ]);
    expect(doubts({ input: 5, output: 25, web_search: 0.01 })).toEqual([
      "price.web_search is 0.01 USD per 1,000 calls, and the list price is 10; it looks like a price per call",
    ]);
    const long = { above: 200_000, input: 0.01, output: 37 };
    expect(
      doubts({ input: 5, output: 25, long_context: long, tiers: { batch: { input: 2, output: 0.01 } } }),
    ).toEqual([
      `price.long_context.input ${perMillion(0.01, 5)}; it looks like a price per thousand`,
      `price.tiers.batch.output ${perMillion(0.01, 25)}; it looks like a price per thousand`,
    ]);
    const deployment = { provider: "aws", upstream_model: "eu.anthropic.claude-opus-5-v1:0" };
    const deployments = [deployment, { ...deployment, price: { input: 0.005, output: 25 } }];
    expect(lintPrices({ id: "house", deployments }).map(({ path }) => path)).toEqual([
      "deployments[1].price.input",
    ]);
  });

  test("input and output that are swapped", () => {
    const swapped = "input and output look swapped: the list price is 5 and 25";
    expect(doubts({ input: 25, output: 5 })).toEqual([`price ${swapped}`]);
    expect(doubts({ input: 30, output: 6, cached_input: 0.5 })).toEqual([`price ${swapped}`]);
  });

  test("any two that are swapped, where nothing else would tell", () => {
    expect(doubts({ input: 0.5, output: 25, cached_input: 5 })).toEqual([
      "price cached_input and input look swapped: the list price is 0.5 and 5",
    ]);
    expect(doubts({ input: 5, output: 25, cached_input: 6.25, cache_write: 0.5 })).toEqual([
      "price cached_input and cache_write look swapped: the list price is 0.5 and 6.25",
    ]);
    expect(doubts({ input: 5, output: 25, cache_write: 10, cache_write_1h: 6.25 })).toEqual([
      "price cache_write and cache_write_1h look swapped: the list price is 6.25 and 10",
    ]);
  });
});

describe("nothing is doubted of", () => {
  test.each([
    ["the list price", { input: 5, output: 25, cached_input: 0.5, cache_write: 6.25, web_search: 10 }],
    ["a surcharge or a discount", { input: 20, output: 100, cached_input: 5 }],
    ["what costs nothing", { input: 0, output: 0, web_search: 0 }],
    ["exactly twenty times as much, or as little", { input: 100, output: 1.25 }],
    ["input and output of one price", { input: 12, output: 12 }],
    ["an input that only looks like the output's price", { input: 25, output: 20 }],
  ])("%s", (_, price) => {
    expect(doubts(price)).toEqual([]);
  });

  test("a model without a price", () => {
    expect(doubts(undefined)).toEqual([]);
  });
});

describe("a model is known", () => {
  test.each([
    ["by its family", { family: "claude-opus-5", upstream_model: "my-deployment" }],
    ["by its id", { id: "claude-opus-5", upstream_model: "my-deployment" }],
    ["by what a cloud calls it", { upstream_model: "us.anthropic.claude-opus-5-20260101-v1:0" }],
    [
      "by its deployment",
      { upstream_model: undefined, deployments: [{ provider: "p", upstream_model: "claude-opus-5" }] },
    ],
  ])("%s", (_, model) => {
    expect(doubts({ input: 0.005, output: 25 }, model as Partial<ModelConfig>)).toHaveLength(1);
  });

  test("and else doubted only where no model can cost so little", () => {
    const own = { id: "house", upstream_model: "llama" };
    expect(doubts({ input: 0.0009, output: 0.000002 }, own)).toEqual([
      "price.input is 0.0009 USD per million tokens; it looks like a price per token or per thousand",
      "price.output is 0.000002 USD per million tokens; it looks like a price per token or per thousand",
    ]);
    expect(doubts({ input: 0.001, output: 0 }, own)).toEqual([]);
    expect(doubts({ input: 9, output: 1 }, own)).toEqual([]);
  });
});

describe("`config check`", () => {
  const check = async (provider: string, model: string) => {
    const place = newPlace({ env: { KEY: "sk-test" } });
    writeFileSync(
      join(place.folder, "sluice.toml"),
      `[providers.p]\napi_key = "env:KEY"\n${provider}\n\n[[models]]\nprovider = "p"\n${model}\n`,
    );
    const { code, stdout, stderr } = await sluice(place, "config", "check");
    return { code, said: stdout + stderr };
  };
  const anthropic = 'kind = "anthropic"';

  test.each([
    ["its list price", anthropic, 'id = "claude-opus-5"\nprice = { input = 0.000005, output = 0.000025 }'],
    [
      "its list price, above",
      anthropic,
      'id = "claude-opus-5"\nprice = { input = 5000.0, output = 25000.0 }',
    ],
    [
      "every price of its vendor",
      anthropic,
      'id = "claude-house"\nprice = { input = 0.00001, output = 0.0001 }',
    ],
    [
      "every price of the vendor at that address",
      'kind = "openai-compatible"\nbase_url = "https://api.groq.com/openai/v1"',
      'id = "house"\nprice = { input = 0.00001, output = 0.00001 }',
    ],
  ])("fails on a price that is 1,000 times off %s, unless it is confirmed", async (_, provider, model) => {
    const doubted = await check(provider, model);
    expect([doubted.code, doubted.said]).toEqual([1, expect.stringContaining("price_confirmed = true")]);
    expect(await check(provider, `${model}\nprice_confirmed = true`)).toMatchObject({ code: 0 });
  });

  test("names the models that their providers stop serving within 30 days", async () => {
    const dayIn = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const ending = (days: number) => check(anthropic, `id = "house"\nfree = true\nends = "${dayIn(days)}"`);
    expect((await ending(60)).said).not.toContain("stops serving");
    const soon = await ending(20);
    expect([soon.code, soon.said]).toEqual([
      0,
      expect.stringContaining(`stops serving this model on ${dayIn(20)}`),
    ]);
    expect((await ending(-3)).said).toContain('"house": the provider stops serving');
  });

  test("only warns of a price that is 50 times off", async () => {
    const warned = await check(anthropic, 'id = "claude-opus-5"\nprice = { input = 0.1, output = 0.5 }');
    expect([warned.code, warned.said]).toEqual([0, expect.stringContaining("the list price is")]);
  });

  test.each(["/v1/chat/completions", "/v1/messages/", "/v1/responses", "/v1/embeddings"])(
    "fails on a base_url that ends in %s",
    async (path) => {
      const model = 'id = "house"\nfree = true';
      const address = (end: string) => `kind = "openai-compatible"\nbase_url = "http://127.0.0.1:1${end}"`;
      const failed = await check(address(path), model);
      expect([failed.code, failed.said]).toEqual([1, expect.stringContaining("must end before /")]);
      expect(await check(address("/v1"), model)).toMatchObject({ code: 0 });
    },
  );
});
