import { assert } from "../../base/assert.ts";
import type { Quantities } from "../../base/money/rates.ts";
import type { MeteredDemand } from "../../dialects/metered/route.ts";

/**
 * What a request may use at any of its deployments: one may be charged by tokens, another by the minute. In tokens is what is so at all
 * of them.
 */
export function largestDemand(demands: readonly MeteredDemand[]): MeteredDemand {
  const [first, ...others] = demands;
  assert(first !== undefined, "a model has deployments");
  return others.reduce(largerOf, first);
}

function largerOf(one: MeteredDemand, other: MeteredDemand): MeteredDemand {
  return {
    input: Math.max(one.input, other.input),
    output: Math.max(one.output, other.output),
    isInTokens: one.isInTokens && other.isInTokens,
    canBeCounted: one.canBeCounted && other.canBeCounted,
    maxExtras: {
      ...one.maxExtras,
      ...other.maxExtras,
      units: largerAmounts(one.maxExtras.units, other.maxExtras.units),
    },
    certain: largerAmounts(one.certain, other.certain),
    bounds: largerAmounts(one.bounds, other.bounds),
  };
}

function largerAmounts(one: Quantities = {}, other: Quantities = {}): Quantities {
  const larger: Record<string, number> = { ...one };
  for (const [name, amount] of Object.entries(other)) larger[name] = Math.max(larger[name] ?? 0, amount);
  return larger;
}
