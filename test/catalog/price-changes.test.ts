import { expect, test } from "bun:test";
import { priceChanges } from "../../src/catalog/price-changes.ts";
import type { Price } from "../../src/config/settings.ts";
import { deployment, model, price } from "./fixtures.ts";

function settings(of: Price | null, microUsdPerCredit = 1_000_000) {
  return { microUsdPerCredit, models: [model("m", { deployments: [deployment("openai", { price: of })] })] };
}

test("nothing has changed where everything costs the same", () => {
  expect(priceChanges(settings(price(1, 2)), settings(price(1, 2)))).toEqual([]);
});

test("every rate that differs is named, with both values", () => {
  const before = { ...price(1, 2), extras: { web_search: 10_000_000_000 }, tiers: { flex: price(0.5, 1) } };
  const after = { ...price(1, 3), extras: { audio_input: 4_000_000 }, tiers: { flex: price(0.5, 1.5) } };
  expect(priceChanges(settings(before), settings(after))).toEqual([
    {
      model: "m",
      detail: "openai/m: output 2 → 3, web_search 10 → none, tiers.flex.output 1 → 1.5, audio_input none → 4",
    },
  ]);
});

test("a price that is new or gone is a change, and so is the value of a credit", () => {
  const rates = "input none → 1, output none → 2, cached_input none → 1, cache_write none → 1";
  expect(priceChanges(settings(null), settings(price(1, 2), 10_000))).toEqual([
    { model: null, detail: "usd_per_credit 1 → 0.01" },
    { model: "m", detail: `openai/m: ${rates}` },
  ]);
  expect(priceChanges(settings(price(1, 2)), settings(null))[0]?.detail).toContain("input 1 → none");
});
