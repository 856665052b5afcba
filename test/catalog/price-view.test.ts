import { expect, test } from "bun:test";
import { describeExtras, priceInUsd } from "../../src/catalog/price-view.ts";
import type { Price } from "../../src/config/settings.ts";

const price: Price = {
  input: 5_000_000,
  output: 30_000_000,
  cachedInput: 500_000,
  cacheWrite: 6_250_000,
  cacheWriteHour: 10_000_000,
  audioInput: 40_000_000,
  audioOutput: 80_000_000,
  calls: { web_search: 10_000_000_000, mcp: 0 },
  longContext: {
    above: 272_000,
    input: 10_000_000,
    output: 45_000_000,
    cachedInput: 1_000_000,
    cacheWrite: 0,
  },
  tiers: { flex: { input: 2_500_000, output: 15_000_000, cachedInput: 250_000, cacheWrite: 3_125_000 } },
};

const shown = {
  input: 5,
  output: 30,
  cached_input: 0.5,
  cache_write: 6.25,
  cache_write_1h: 10,
  long_context: { above: 272_000, input: 10, output: 45, cached_input: 1, cache_write: 0 },
  audio_input: 40,
  audio_output: 80,
  web_search: 10,
  mcp: 0,
  tiers: { flex: { input: 2.5, output: 15, cached_input: 0.25, cache_write: 3.125 } },
};

test("a price is shown with the names and units of the configuration", () => {
  expect(priceInUsd(price)).toEqual(shown);
});

test("what a price does not have is not shown", () => {
  const plain = { input: 1_000_000, output: 2_000_000, cachedInput: 1_000_000, cacheWrite: 1_000_000 };
  const plainly = { input: 1, output: 2, cached_input: 1, cache_write: 1 };
  expect(priceInUsd(plain)).toEqual(plainly);
  expect(priceInUsd({ ...plain, audioInput: 3_000_000 })).toEqual({ ...plainly, audio_input: 3 });
  expect(priceInUsd({ ...plain, audioOutput: 4_000_000 })).toEqual({ ...plainly, audio_output: 4 });
});

test("what costs extra is described in a few words", () => {
  expect(describeExtras(shown)).toEqual([
    "audio_input 40",
    "audio_output 80",
    "web_search 10",
    "mcp 0",
    "above 272000 tokens 10 and 45",
    "tier flex",
  ]);
});
