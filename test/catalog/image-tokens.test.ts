import { expect, test } from "bun:test";
import { makeRates } from "../../src/base/money/rates.ts";
import { noUsage } from "../../src/base/usage/usage.ts";
import { quantitiesOf } from "../../src/catalog/priced-usage.ts";

const usual = { microUsdPerCredit: 1_000_000, tiers: [], inputAbove: null };
const usage = { ...noUsage, inputTokens: 100, outputTokens: 40 };
const none = { units: {}, calls: {}, tiers: [], audioInputTokens: 0, audioOutputTokens: 0 };
const extra = { ...none, imageInputTokens: 60, imageOutputTokens: 90 };

test("image tokens are apart where they have a rate of their own, and never more than there are tokens", () => {
  const rates = makeRates({ ...usual, picoUsd: { input: 1, output: 2, image_input: 3, image_output: 4 } });
  expect(quantitiesOf(usage, extra, rates)).toEqual({ image_input: 60, input: 40, image_output: 40 });
});

test("image tokens without a rate of their own are charged like all others", () => {
  const rates = makeRates({ ...usual, picoUsd: { input: 1, output: 2 } });
  expect(quantitiesOf(usage, extra, rates)).toEqual({ input: 100, output: 40 });
});

test("where a provider does not say how many are images, none are", () => {
  const rates = makeRates({ ...usual, picoUsd: { input: 1, output: 2, image_input: 3, image_output: 4 } });
  expect(quantitiesOf(usage, none, rates)).toEqual({ input: 100, output: 40 });
});
