import { describe, expect, test } from "bun:test";
import { noCalls, noUsage, type Usage } from "../../src/base/usage/usage.ts";
import { highestPrice, holdAmount } from "../../src/catalog/price.ts";
import { priceInUsd } from "../../src/catalog/price-view.ts";
import type { Price } from "../../src/config/settings.ts";
import { readUsage } from "../../src/dialects/anthropic-messages/provider/usage-in.ts";
import { load, problemsOf } from "../config/fixtures.ts";
import { cost } from "./fixtures.ts";

const oneToOne = 1_000_000;

/** Of a model with this price in the file. */
function configured(price: string): Price {
  const toml = `[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"\nprice = ${price}`;
  const built = load(toml).settings.models[0]?.price;
  if (built == null) throw new Error("the model has no price");
  return built;
}

const claude = configured(
  `{ input = 3.0, output = 15.0, cached_input = 0.3, cache_write = 3.75, cache_write_1h = 6.0,
  long_context = { above = 200000, input = 6.0, output = 22.5, cached_input = 0.6, cache_write = 7.5, cache_write_1h = 12.0 },
  tiers = { priority = { input = 30.0, output = 150.0 }, flex = { input = 1.5, output = 7.5, long_context = { above = 200000, input = 3.0, output = 11.25 } } } }`.replaceAll(
    "\n",
    " ",
  ),
);

const usage = (changes: Partial<Usage>): Usage => ({ ...noUsage, ...changes });
const onTier = (tier: string) => ({
  tiers: [tier],
  calls: noCalls,
  audioInputTokens: 0,
  audioOutputTokens: 0,
});

describe("a long context", () => {
  test("costs more from the first token above the limit on, for all of the call's tokens", () => {
    const at = usage({
      inputTokens: 100_000,
      cachedInputTokens: 60_000,
      cacheWriteTokens: 40_000,
      outputTokens: 10,
    });
    // 100,000 x 3 + 60,000 x 0.3 + 40,000 x 3.75 + 10 x 15 micro-USD, in nano-credits.
    expect(cost(at, claude, oneToOne)).toBe((300_000 + 18_000 + 150_000 + 150) * 1000);
    const above = { ...at, inputTokens: 100_001 };
    expect(cost(above, claude, oneToOne)).toBe((600_006 + 36_000 + 300_000 + 225) * 1000);
  });

  test("has the price of its tier, if the tier has one, and else the tier's only price", () => {
    const long = usage({ inputTokens: 200_001, outputTokens: 1 });
    expect(cost(long, claude, oneToOne, onTier("priority"))).toBe((200_001 * 30 + 150) * 1000);
    expect(cost(long, claude, oneToOne, onTier("flex"))).toBe((200_001 * 3 + 11.25) * 1000);
  });

  test("is held at its price if the input may be that long", () => {
    expect(holdAmount("credit", { input: 200_000, output: 10 }, claude, oneToOne)).toBe(
      (200_000 * 6 + 150) * 1000,
    );
    expect(holdAmount("credit", { input: 200_001, output: 10 }, claude, oneToOne)).toBe(
      (200_001 * 12 + 225) * 1000,
    );
    const held = holdAmount("credit", { input: 200_001, output: 10 }, claude, oneToOne, onTier("flex"));
    expect(held).toBe((200_001 * 12 + 225) * 1000);
  });

  test("of several deployments is held at the highest rates for its length", () => {
    const other = configured(
      "{ input = 4.0, output = 10.0, long_context = { above = 100000, input = 5.0, output = 30.0 } }",
    );
    const flat = configured("{ input = 1.0, output = 20.0 }");
    expect(highestPrice([claude, other, flat])).toMatchObject({
      input: 4_000_000,
      output: 20_000_000,
      long_context: [
        { above: 100_000, input: 5_000_000, output: 30_000_000, cache_write_1h: 6_000_000 },
        { above: 200_000, input: 6_000_000, output: 30_000_000, cache_write_1h: 12_000_000 },
      ],
    });
  });

  test("is checked and shown like any price", () => {
    expect(
      problemsOf(
        `[providers.demo]\nkind = "demo"\n[[models]]\nid = "m"\nprovider = "demo"
         price = { input = 1, output = 1, long_context = { above = 0, input = 0.0000001, output = 1 } }`,
      ),
    ).toEqual([
      "models[0].price.long_context.above: must be a whole number of at least 1, not 0",
      "models[0].price.long_context.input: must have six decimals at most; prices are per million tokens, or per 1,000 calls",
    ]);
    expect(priceInUsd(claude)).toMatchObject({
      cache_write_1h: 6,
      long_context: {
        above: 200_000,
        input: 6,
        output: 22.5,
        cached_input: 0.6,
        cache_write: 7.5,
        cache_write_1h: 12,
      },
    });
  });
});

describe("an hour in the cache", () => {
  const reported = readUsage({
    input_tokens: 10,
    output_tokens: 5,
    cache_creation_input_tokens: 300,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
  });

  test("is charged at its own price, and five minutes at theirs", () => {
    if (reported === null) throw new Error("usage was reported");
    // 10 x 3 + 100 x 3.75 + 200 x 6 + 5 x 15 micro-USD.
    expect(cost(reported, claude, oneToOne)).toBe((30 + 375 + 1200 + 75) * 1000);
  });

  test("costs as much as any write where it has no price, and never more tokens than were written", () => {
    const plain = configured("{ input = 3.0, output = 15.0, cache_write = 3.75 }");
    const written = usage({ cacheWriteTokens: 300, cacheWriteHourTokens: 200 });
    expect(cost(written, plain, oneToOne)).toBe(300 * 3750);
    expect(cost({ ...written, cacheWriteTokens: 0 }, claude, oneToOne)).toBe(0);
  });
});
