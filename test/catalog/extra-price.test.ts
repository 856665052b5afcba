import { describe, expect, test } from "bun:test";
import { type ExtraUsage, noUsage } from "../../src/base/usage/usage.ts";
import { highestPrice, holdAmount } from "../../src/catalog/price.ts";
import type { Price } from "../../src/config/settings.ts";
import { cost } from "./fixtures.ts";

/** In pico-USD: a token of input 1, of output 2 micro-USD, and a call of each tool 10 milli-USD. */
const price: Price = {
  input: 1_000_000,
  output: 2_000_000,
  cached_input: 100_000,
  cache_write: 1_250_000,
  extras: {
    audio_input: 40_000_000,
    audio_output: 80_000_000,
    web_search: 10_000_000_000,
    file_search: 2_500_000_000,
  },
  tiers: {
    priority: { input: 3_000_000, output: 6_000_000, cached_input: 300_000, cache_write: 3_000_000 },
    flex: { input: 500_000, output: 1_000_000, cached_input: 50_000, cache_write: 500_000 },
  },
};
const plain: ExtraUsage = { tiers: [], calls: {}, audioInputTokens: 0, audioOutputTokens: 0 };
const usage = { ...noUsage, inputTokens: 100, cachedInputTokens: 10, cacheWriteTokens: 4, outputTokens: 50 };
const credit = 1_000_000;

const costOf = (extra: ExtraUsage | null) => cost(usage, price, credit, extra);

describe("a call with extras costs", () => {
  const text = 100_000 + 1_000 + 5_000 + 100_000;

  test("what it costs without, where it used none", () => {
    expect(costOf(null)).toBe(text);
    expect(costOf(plain)).toBe(text);
  });

  test("each tool call at its price", () => {
    expect(costOf({ ...plain, calls: { web_search: 3 } })).toBe(text + 30_000_000);
    expect(costOf({ ...plain, calls: { web_search: 1, file_search: 2 } })).toBe(text + 15_000_000);
    expect(costOf({ ...plain, calls: { mcp: 9 } })).toBe(text);
  });

  test("the rates of its tier, and the usual ones for a tier without a price", () => {
    expect(costOf({ ...plain, tiers: ["priority"] })).toBe(300_000 + 3_000 + 12_000 + 300_000);
    expect(costOf({ ...plain, tiers: ["flex"] })).toBe(50_000 + 500 + 2_000 + 50_000);
    expect(costOf({ ...plain, tiers: ["default"] })).toBe(text);
    for (const tier of ["constructor", "__proto__", ""])
      expect(costOf({ ...plain, tiers: [tier] })).toBe(text);
  });

  test("audio instead of text for the tokens that are audio, and never more of them than there are", () => {
    expect(costOf({ ...plain, audioInputTokens: 40, audioOutputTokens: 20 })).toBe(
      60_000 + 1_600_000 + 1_000 + 5_000 + 60_000 + 1_600_000,
    );
    expect(costOf({ ...plain, audioInputTokens: 1e6, audioOutputTokens: 1e6 })).toBe(
      4_000_000 + 1_000 + 5_000 + 4_000_000,
    );
  });
});

describe("a hold for extras", () => {
  const tokens = { input: 100, output: 50 };
  const held = (asked: ExtraUsage | null) => holdAmount("credit", tokens, price, credit, asked);
  const text = 125_000 + 100_000;

  test("covers the calls that may be made", () => {
    expect(held(null)).toBe(text);
    expect(held({ ...plain, calls: { web_search: 5 } })).toBe(text + 50_000_000);
  });

  test("is at the higher of the tier's and the usual rates", () => {
    expect(held({ ...plain, tiers: ["priority"] })).toBe(300_000 + 300_000);
    expect(held({ ...plain, tiers: ["flex"] })).toBe(text);
  });

  test("takes all tokens for audio where there is any", () => {
    expect(held({ ...plain, audioInputTokens: 1 })).toBe(4_000_000 + 100_000);
    expect(held({ ...plain, audioOutputTokens: 1 })).toBe(125_000 + 4_000_000);
  });

  test("of a token budget counts tokens alone", () => {
    expect(holdAmount("token_budget", tokens, price, credit, { ...plain, calls: { web_search: 5 } })).toBe(
      150,
    );
  });
});

test("the highest of several prices has the most of each extra", () => {
  const other: Price = {
    ...{ input: 2_000_000, output: 1_000_000, cached_input: 2_000_000, cache_write: 2_000_000 },
    extras: { audio_input: 50_000_000, web_search: 1, mcp: 7 },
    tiers: { priority: { input: 9, output: 9_000_000, cached_input: 9, cache_write: 9 } },
  };
  expect(highestPrice([price, other, null])).toMatchObject({
    extras: {
      audio_input: 50_000_000,
      audio_output: 80_000_000,
      web_search: 10_000_000_000,
      file_search: 2_500_000_000,
      mcp: 7,
    },
    tiers: {
      priority: { input: 3_000_000, output: 9_000_000 },
      flex: { input: 2_000_000, output: 1_000_000 },
    },
  });
});
