import { expect, test } from "bun:test";
import { describeExtras, priceInUsd } from "../../src/catalog/price-view.ts";
import { price } from "./fixtures.ts";

const plain = { input: 1, output: 2, cached_input: 0.5, cache_write: 1.25 };

test("a price is shown in the units of the configuration, with what it has and nothing else", () => {
  expect<object>(priceInUsd(price(1, 2, 0.5, 1.25))).toStrictEqual(plain);
  const all = {
    ...price(1, 2, 0.5, 1.25),
    cache_write_1h: 2_000_000,
    long_context: { ...price(3, 4, 1, 2), above: 200_000 },
    extras: { audio_input: 40_000_000, audio_output: 80_000_000, web_search: 10_000_000_000 },
    tiers: { flex: price(0.5, 1) },
  };
  expect<object>(priceInUsd(all)).toStrictEqual({
    ...plain,
    cache_write_1h: 2,
    long_context: { above: 200_000, input: 3, output: 4, cached_input: 1, cache_write: 2 },
    audio_input: 40,
    audio_output: 80,
    web_search: 10,
    tiers: { flex: { input: 0.5, output: 1, cached_input: 0.5, cache_write: 0.5 } },
  });
});

test("a price for one kind of audio is not shown as one for the other", () => {
  expect<object>(
    priceInUsd({ ...price(1, 2, 0.5, 1.25), extras: { audio_output: 80_000_000 } }),
  ).toStrictEqual({
    ...plain,
    audio_output: 80,
  });
});

test("fees per request are shown by the size of their search, or as one", () => {
  const sized = { "requests.low": 5_000_000_000, "requests.high": 12_000_000_000 };
  const shown = priceInUsd({ ...price(1, 2, 0.5, 1.25), extras: sized });
  expect<object>(shown).toStrictEqual({ ...plain, requests: { low: 5, high: 12 } });
  expect(describeExtras(shown)).toEqual(["requests low 5", "requests high 12"]);
  const flat = priceInUsd({ ...price(1, 2, 0.5, 1.25), extras: { requests: 5_000_000_000 } });
  expect<object>(flat).toStrictEqual({ ...plain, requests: 5 });
});
