import { describe, expect, test } from "bun:test";
import { unaffordableNano } from "../../src/base/money/money.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import { holdAmount } from "../../src/catalog/price.ts";
import { cost, price } from "./fixtures.ts";

const oneToOne = 1_000_000;

describe("the cost of a call", () => {
  test("adds up the four kinds of tokens, each at its own price", () => {
    const usage = {
      inputTokens: 1000,
      cachedInputTokens: 2000,
      cacheWriteTokens: 300,
      outputTokens: 500,
      reasoningTokens: 400,
    };
    // 1000 x 1.25 + 2000 x 0.125 + 300 x 1.5 + 500 x 10 = 6950 micro-USD
    expect(cost(usage, price(1.25, 10, 0.125, 1.5), oneToOne)).toBe(6_950_000);
  });

  test("is rounded once, and up", () => {
    const tiny = { input: 1, output: 1, cached_input: 1, cache_write: 1 };
    expect(cost({ ...noUsage, inputTokens: 1 }, tiny, oneToOne)).toBe(1);
    expect(cost({ ...noUsage, inputTokens: 1000 }, tiny, oneToOne)).toBe(1);
    expect(cost({ ...noUsage, inputTokens: 500, outputTokens: 501 }, tiny, oneToOne)).toBe(2);
    expect(cost(noUsage, tiny, oneToOne)).toBe(0);
  });

  test("is exact where a double would not be", () => {
    const usage = { ...noUsage, inputTokens: 3_007_199_254_740, outputTokens: 1 };
    expect(cost(usage, { ...price(1, 0), output: 1 }, oneToOne)).toBe(3_007_199_254_740_001);
  });

  test("adds up what came from and went to a cache in the same way beyond what a double holds", () => {
    const usage = {
      inputTokens: 1_000_000_001,
      cachedInputTokens: 2_000_000_003,
      cacheWriteTokens: 3_000_000_005,
      outputTokens: 4_000_000_007,
      reasoningTokens: 9,
    };
    const prices = { input: 5_000_001, cached_input: 500_003, cache_write: 6_250_007, output: 25_000_009 };
    const nano =
      1_000_000_001n * 5_000_001n +
      2_000_000_003n * 500_003n +
      (3_000_000_005n * 6_250_007n + 4_000_000_007n * 25_000_009n);
    expect(cost(usage, prices, oneToOne)).toBe(Number((nano + 999n) / 1000n));
  });

  test("above every possible balance is as much as no balance can pay, and no more", () => {
    const extreme = price(1_000_000, 1_000_000);
    for (const outputTokens of [5_000_000, 1_000_000_000, Number.MAX_SAFE_INTEGER]) {
      expect(cost({ ...noUsage, outputTokens }, extreme, oneToOne)).toBe(unaffordableNano);
      expect(cost({ ...noUsage, outputTokens }, extreme, 1)).toBe(unaffordableNano);
    }
    expect(cost({ ...noUsage, outputTokens: 4_000_000 }, extreme, oneToOne)).toBe(unaffordableNano - 1);
  });

  test("depends on the value of a credit", () => {
    const usage = { ...noUsage, outputTokens: 1000 };
    expect(cost(usage, price(0, 10), 500_000)).toBe(20_000_000);
  });

  test("is nothing for a model without a price", () => {
    expect(cost({ ...noUsage, outputTokens: 1000 }, null, oneToOne)).toBe(0);
  });
});

describe("a hold", () => {
  test("is priced for credit keys, with the input at its highest rate", () => {
    const tokens = { input: 1000, output: 100 };
    expect(holdAmount("credit", tokens, price(1, 10, 0.1, 1.25), oneToOne)).toBe(2_250_000);
    expect(holdAmount("credit", tokens, null, oneToOne)).toBe(0);
  });

  test("is a count of tokens for token-budget keys, whatever the price", () => {
    expect(holdAmount("token_budget", { input: 1000, output: 100 }, null, oneToOne)).toBe(1100);
  });

  test("is never below the cost of the usage it was made for", () => {
    const prices = [price(3, 15, 0.3, 3.75), price(0.01, 0.02), price(1, 1, 2, 0)];
    for (const each of prices) {
      const hold = holdAmount("credit", { input: 777, output: 333 }, each, 3_000_001);
      const split = { inputTokens: 100, cachedInputTokens: 377, cacheWriteTokens: 300 };
      expect(cost({ ...split, outputTokens: 333, reasoningTokens: 0 }, each, 3_000_001)).toBeLessThanOrEqual(
        hold,
      );
    }
  });
});
