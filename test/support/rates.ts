import { makeRates, type Quantities } from "../../src/base/money/rates.ts";

/** Rates at which a token of output costs one nano-credit, so that any cost is some number of them. */
export const nanoRates = makeRates({
  microUsdPerCredit: 1_000_000,
  picoUsd: { output: 1000 },
  tiers: [],
  inputAbove: null,
});

/** The same, where a token of output is resold at 2.4 nano-credits of half a USD, and the provider is owed a nano-USD for it. */
export const resoldRates = makeRates({
  microUsdPerCredit: 500_000,
  picoUsd: { output: 1200 },
  owedPicoUsd: { output: 1000 },
  tiers: [],
  inputAbove: null,
});

/** A cost, in nano-credits or tokens, and something that it follows from. */
export function costing(cost: number) {
  const quantities: Quantities = { output: cost };
  return { cost, rates: nanoRates, quantities, listCostNano: null };
}
