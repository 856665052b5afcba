import { describe, expect, test } from "bun:test";
import { noUsage } from "../../src/base/usage.ts";
import { cost, holdAmount } from "../../src/catalog/price.ts";
import { price } from "./fixtures.ts";

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
    const tiny = { input: 1, output: 1, cachedInput: 1, cacheWrite: 1 };
    expect(cost({ ...noUsage, inputTokens: 1 }, tiny, oneToOne)).toBe(1);
    expect(cost({ ...noUsage, inputTokens: 1000 }, tiny, oneToOne)).toBe(1);
    expect(cost({ ...noUsage, inputTokens: 500, outputTokens: 501 }, tiny, oneToOne)).toBe(2);
    expect(cost(noUsage, tiny, oneToOne)).toBe(0);
  });

  test("is exact where a double would not be", () => {
    const usage = { ...noUsage, inputTokens: 9_007_199_254_740, outputTokens: 1 };
    expect(cost(usage, { ...price(1, 0), output: 1 }, oneToOne)).toBe(9_007_199_254_740_001);
  });

  test("follows what a credit is worth", () => {
    const usage = { ...noUsage, outputTokens: 1000 };
    expect(cost(usage, price(0, 10), 500_000)).toBe(20_000_000);
  });

  test("is nothing for a model without a price", () => {
    expect(cost({ ...noUsage, outputTokens: 1000 }, null, oneToOne)).toBe(0);
  });
});

describe("a hold", () => {
  test("is priced for credit keys, with the input at its dearest rate", () => {
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
