import { expect, test } from "bun:test";
import { freeOfUnits, type MeteredDemand } from "../../../src/dialects/metered/route.ts";
import { largestDemand } from "../../../src/gateway/metered/pricing.ts";

test("a request is held for at the most that any deployment may count, in whichever order they come", () => {
  const byTokens: MeteredDemand = {
    ...{ input: 100, output: 5, isInTokens: true, canBeCounted: true },
    maxExtras: { units: { requests: 1, images: 4 } },
    certain: { requests: 1, characters: 9 },
    bounds: { minutes: 2 },
  };
  const byUnits: MeteredDemand = {
    ...{ input: 10, output: 50, isInTokens: false, canBeCounted: false },
    maxExtras: { units: { requests: 2, images: 3 } },
    certain: { requests: 1, characters: 7 },
  };
  const largest = {
    ...{ input: 100, output: 50, isInTokens: false, canBeCounted: false },
    maxExtras: { units: { requests: 2, images: 4 } },
    certain: { requests: 1, characters: 9 },
    bounds: { minutes: 2 },
  };
  expect(largestDemand([byTokens, byUnits])).toEqual(largest);
  expect(largestDemand([byUnits, byTokens])).toEqual(largest);
  expect(largestDemand([freeOfUnits])).toBe(freeOfUnits);
});
