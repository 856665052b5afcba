import { describe, expect, test } from "bun:test";
import { costNano, readRates, tokensOf } from "../../src/base/money/rates.ts";
import { noUsage, type Round, totalTokens, type Usage } from "../../src/base/usage/usage.ts";
import { priced } from "../../src/catalog/priced-usage.ts";
import type { Price } from "../../src/config/settings.ts";

/** In pico-USD; a token of input costs 1 micro-USD, or 10 in a long context. */
const price: Price = {
  ...{ input: 1_000_000, output: 2_000_000, cached_input: 100_000, cache_write: 1_250_000 },
  long_context: {
    ...{
      above: 1000,
      input: 10_000_000,
      output: 20_000_000,
      cached_input: 1_000_000,
      cache_write: 12_500_000,
    },
  },
  extras: { web_search: 10_000_000_000 },
  tiers: { fast: { input: 3_000_000, output: 6_000_000, cached_input: 300_000, cache_write: 3_000_000 } },
};
const advisors: Price = {
  input: 5_000_000,
  output: 25_000_000,
  cached_input: 500_000,
  cache_write: 6_250_000,
};
const credit = 1_000_000;

const used = (inputTokens: number, outputTokens: number): Usage => ({
  ...noUsage,
  inputTokens,
  outputTokens,
});
const round = (model: string | null, input: number, output: number): Round => ({
  model,
  usage: used(input, output),
});

function withRounds(answer: Usage, ...rounds: readonly Round[]): Usage {
  const sum = (of: "inputTokens" | "outputTokens") =>
    rounds.reduce((total, { usage }) => total + usage[of], answer[of]);
  return { ...answer, inputTokens: sum("inputTokens"), outputTokens: sum("outputTokens"), rounds };
}

const runOf = (model: string) =>
  model === "own" ? null : { id: model, price: model === "opus" ? advisors : null };
const pricedCall = (usage: Usage, extra = null) => priced(usage, price, credit, extra, runOf);

/** Money follows from what is kept of it alone, and a token budget pays all tokens. */
function expectExplained(usage: Usage, expectedNano: number, quantities: Record<string, number>): void {
  const call = pricedCall(usage);
  expect(call.quantities).toEqual(quantities);
  expect(call.costNano).toBe(expectedNano);
  expect(costNano(readRates(call.rates.text), call.quantities)).toBe(expectedNano);
  expect(tokensOf(call.quantities)).toBe(totalTokens(usage));
}

describe("what the provider is owed", () => {
  /** At these prices, a markup of 1.2 made 833,334 of 694,445 and 1,000,000 of 833,333, each rounded up. */
  const resold: Price = { ...price, output: 833_334, markupParts: 12_000 };

  test("is the list price, exact although the marked up one was rounded up", () => {
    const { rates, costNano: cost, owedNanoUsd } = priced(used(1000, 6), resold, credit);
    expect(rates.owedPicoUsd).toMatchObject({ input: 833_333, output: 694_445 });
    expect([cost, owedNanoUsd]).toEqual([1_005_001, 837_500]);
  });

  test("has the margin of each model that ran", () => {
    const usage = withRounds(used(1000, 0), round("opus", 100, 0), round(null, 10, 0));
    const { rates, owedNanoUsd } = priced(usage, resold, credit, null, runOf);
    expect(rates.owedPicoUsd).toMatchObject({ input: 833_333, "opus/input": 5_000_000 });
    expect(owedNanoUsd).toBe(Math.ceil((1010 * 833_333 + 100 * 5_000_000) / 1000));
    const beside = priced(withRounds(used(10, 0), round("opus", 1, 0)), price, credit, null, (model) => ({
      id: model,
      price: { ...advisors, markupParts: 20_000 },
    }));
    expect([beside.costNano, beside.owedNanoUsd]).toEqual([15_000, 12_500]);
    expect(priced(usage, price, credit, null, runOf).rates.owedPicoUsd).toBeNull();
  });
});

describe("a run beside the answer", () => {
  test("at the answer's rates is added to what that used", () => {
    const usage = withRounds(used(100, 10), round(null, 900, 5), round(null, 1000, 0));
    expectExplained(usage, 2_000_000 + 30_000, { input: 2000, output: 15 });
  });

  test("has the rates of its own length, whatever the answer's", () => {
    expectExplained(
      withRounds(used(100, 10), round(null, 1001, 5)),
      100_000 + 20_000 + 10_010_000 + 100_000,
      {
        ...{ input: 100, output: 10 },
        ...{ "compaction above 1000/input": 1001, "compaction above 1000/output": 5 },
      },
    );
    expectExplained(
      withRounds(used(1001, 10), round(null, 100, 5)),
      10_010_000 + 200_000 + 100_000 + 10_000,
      {
        ...{ input: 1001, output: 10, "compaction/input": 100, "compaction/output": 5 },
      },
    );
    const both = withRounds(used(100, 0), round(null, 2000, 0), round(null, 200, 0), round(null, 3000, 0));
    expectExplained(both, 300_000 + 50_000_000, { input: 300, "compaction above 1000/input": 5000 });
  });

  test("of another model has that model's rates, under its name", () => {
    const usage = withRounds(used(100, 10), round("opus", 2000, 40), round("opus", 10, 0), round(null, 7, 0));
    expectExplained(usage, 107_000 + 20_000 + 10_050_000 + 1_000_000, {
      ...{ input: 107, output: 10, "opus/input": 2010, "opus/output": 40 },
    });
  });

  test("of a model that is taken for the call's own has its rates", () => {
    expectExplained(withRounds(used(100, 10), round("own", 500, 4)), 600_000 + 28_000, {
      input: 600,
      output: 14,
    });
  });

  test("of a model that is free costs nothing, and is noted", () => {
    expectExplained(withRounds(used(100, 10), round("gift", 500, 4)), 120_000, {
      ...{ input: 100, output: 10, "gift/input": 500, "gift/output": 4 },
    });
  });

  test("is on the call's tier, and calls no tools of its own", () => {
    const extra = { tiers: ["fast"], calls: { web_search: 2 }, audioInputTokens: 0, audioOutputTokens: 0 };
    const call = priced(withRounds(used(100, 10), round(null, 50, 0)), price, credit, extra);
    expect(call.costNano).toBe(450_000 + 60_000 + 20_000_000);
    expect(call.rates.tiers).toEqual(["fast"]);
  });

  test("is all that costs where the call's own model is free", () => {
    const usage = withRounds(used(100, 10), round("opus", 10, 1));
    expect(priced(usage, null, credit, null, runOf).costNano).toBe(75_000);
  });
});
