import { describe, expect, test } from "bun:test";
import {
  cacheSavingsNano,
  costNano,
  isToken,
  makeRates,
  outputTokensOf,
  owedNanoUsd,
  type Quantities,
  readRates,
  tokensOf,
} from "../../../src/base/money/rates.ts";

const usual = { microUsdPerCredit: 1_000_000, tiers: [], inputAbove: null };
const rates = makeRates({
  ...usual,
  picoUsd: { input: 5_000_000, output: 30_000_000, web_search: 10_000_000_000 },
});

test("output is every kind of it, of every model, and nothing that only ends like it", () => {
  const quantities = {
    input: 1,
    output: 10,
    audio_output: 100,
    "claude-5/output": 1_000,
    "claude-5/input": 5,
    throughput: 7,
  };
  expect(outputTokensOf(quantities)).toBe(1_110);
  expect(outputTokensOf({ image_output: 3, video_output: 9, web_search: 2 })).toBe(3);
});

describe("rates", () => {
  test("are read again as they were, under the id that they had", () => {
    const special = makeRates({ ...usual, picoUsd: { input: 1 }, tiers: ["flex"], inputAbove: 200_000 });
    expect(readRates(rates.text)).toEqual(rates);
    expect(readRates(special.text)).toEqual(special);
    const resold = makeRates({ ...usual, picoUsd: { input: 12 }, owedPicoUsd: { input: 10 } });
    expect(readRates(resold.text)).toEqual(resold);
    expect(resold.id).not.toBe(makeRates({ ...usual, picoUsd: { input: 12 } }).id);
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

  test("say what the provider is owed in USD, without a margin and whatever a credit is worth", () => {
    const owed = (of: typeof rates, quantities: Quantities) =>
      owedNanoUsd(of, quantities, costNano(of, quantities));
    expect(owed(rates, { input: 120, output: 40 })).toBe(1_800_000);
    const half = makeRates({ ...usual, picoUsd: { input: 5_000_000 }, microUsdPerCredit: 500_000 });
    expect(owed(half, { input: 120 })).toBe(600_000);
    const resold = { picoUsd: { input: 6_000_000 }, owedPicoUsd: { input: 5_000_000 } };
    for (const microUsdPerCredit of [1_000_000, 500_000])
      expect(owed(makeRates({ ...usual, ...resold, microUsdPerCredit }), { input: 120 })).toBe(600_000);
  });

  test("name everything that costs something", () => {
    expect(costNano(rates, { input: 120, file_search: 9 })).toBe(600_000);
    // So many that it is counted in whole numbers of any size.
    expect(costNano(rates, { input: 2 ** 32, file_search: 2 ** 52 })).toBe(5_000 * 2 ** 32);
  });

  test("are exact where a double would not be", () => {
    const big = { ...rates, picoUsd: { input: 1_000_001, output: 1 } };
    expect(costNano(big, { input: 3_000_000_000_001, output: 1 })).toBe(3_000_003_000_001_001);
    const spoken = { ...rates, picoUsd: { input: 5_000_000, audio_minutes: 6_000_000_000 } };
    expect(costNano(spoken, { input: 2 ** 32, audio_minutes: 1 / 3 })).toBe(5_000 * 2 ** 32 + 2_000_000);
  });

  test("tell what a cache has saved, of the call's own model and of others", () => {
    const picoUsd = { input: 5_000, cached_input: 1_000, cache_write: 6_000, "other/input": 3_000 };
    const saved = (quantities: Quantities) => cacheSavingsNano({ ...rates, picoUsd }, quantities);
    expect(saved({ input: 10, output: 7 })).toBe(0);
    expect(saved({ input: 10, cached_input: 100, cache_write: 30 })).toBe(400 - 30);
    expect(saved({ cached_input: 100 })).toBe(400);
    expect(saved({ "other/cached_input": 100 })).toBe(300);
  });
});

test("a token budget pays all tokens, those of other models included, and no calls", () => {
  expect(tokensOf({ input: 1, audio_input: 2, cache_write_1h: 4, output: 8, web_search: 16 })).toBe(15);
  expect(tokensOf({ input: 1, "some/claude-5/output": 2 })).toBe(3);
  expect(isToken("web_search")).toBe(false);
});
