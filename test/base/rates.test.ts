import { describe, expect, test } from "bun:test";
import { costNano, isToken, makeRates, readRates, tokensOf } from "../../src/base/rates.ts";

const usual = { microUsdPerCredit: 1_000_000, tiers: [], inputAbove: null };
const rates = makeRates({
  ...usual,
  picoUsd: { input: 5_000_000, output: 30_000_000, web_search: 10_000_000_000 },
});

describe("rates", () => {
  test("are read again as they were, under the id that they had", () => {
    const special = makeRates({ ...usual, picoUsd: { input: 1 }, tiers: ["flex"], inputAbove: 200_000 });
    expect(readRates(rates.text)).toEqual(rates);
    expect(readRates(special.text)).toEqual(special);
  });

  test("differ in their id wherever they differ", () => {
    const others = [
      makeRates({ ...usual, picoUsd: { input: 5_000_001 } }),
      makeRates({ ...usual, picoUsd: { input: 5_000_001 }, tiers: ["flex"] }),
      makeRates({ ...usual, picoUsd: { input: 5_000_001 }, inputAbove: 1 }),
      makeRates({ ...usual, picoUsd: { input: 5_000_001 }, microUsdPerCredit: 1 }),
    ];
    expect(new Set([rates, ...others].map(({ id }) => id)).size).toBe(5);
    for (const { id } of others) expect(Number.isSafeInteger(id)).toBe(true);
  });

  test("times quantities are the cost, rounded up once", () => {
    expect(costNano(rates, { input: 120, output: 40 })).toBe(1_800_000);
    expect(costNano(rates, { input: 1, web_search: 2 })).toBe(20_005_000);
    expect(costNano({ ...rates, picoUsd: { input: 1, output: 1 } }, { input: 500, output: 501 })).toBe(2);
    expect(costNano(rates, {})).toBe(0);
  });

  test("name everything that costs something", () => {
    expect(costNano(rates, { input: 120, file_search: 9 })).toBe(600_000);
  });

  test("are exact where a double would not be", () => {
    const big = { ...rates, picoUsd: { input: 1_000_001, output: 1 } };
    expect(costNano(big, { input: 3_000_000_000_001, output: 1 })).toBe(3_000_003_000_001_001);
  });
});

test("a token budget pays all tokens, those of other models included, and no calls", () => {
  expect(tokensOf({ input: 1, audio_input: 2, cache_write_1h: 4, output: 8, web_search: 16 })).toBe(15);
  expect(tokensOf({ input: 1, "some/claude-5/output": 2 })).toBe(3);
  expect(isToken("web_search")).toBe(false);
});
