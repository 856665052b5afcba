import { describe, expect } from "bun:test";
import { costNano, makeRates, type Quantities } from "../../../src/base/money/rates.ts";
import { noUsage } from "../../../src/base/usage/usage.ts";
import type { ComparedPrices } from "../../../src/store/store.ts";
import { FakeClock } from "../../support/clock.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem, usageRecord } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";

const noonMs = Date.UTC(2026, 10, 15, 12);
const range = { sinceMs: noonMs - 3_600_000, untilMs: noonMs + 3_600_000 };

const own = makeRates({
  microUsdPerCredit: 1_000_000,
  picoUsd: { input: 3_000_000, cached_input: 300_000, cache_write: 3_000_000, output: 15_000_000 },
  tiers: ["priority"],
  inputAbove: null,
});

const usual = { input: 1_000_001, cached_input: 100_000, cache_write: 1_000_000, output: 4_000_000 };
const prices: ComparedPrices = {
  microUsdPerCredit: 1_000_000,
  isFree: false,
  usual: { usual, long: { above: 1_000, picoUsd: { ...usual, input: 2_000_000 } } },
  byTier: {},
};

async function charge(store: GatewayStore, keyId: string, quantities: Quantities, changes = {}) {
  const usage = {
    ...noUsage,
    inputTokens: quantities["input"] ?? 0,
    cachedInputTokens: quantities["cached_input"] ?? 0,
    outputTokens: quantities["output"] ?? 0,
  };
  const record = { ...usageRecord(keyId, { atMs: noonMs, ...changes }), usage };
  const item = settleItem(keyId, costNano(own, quantities), { atMs: record.atMs });
  await store.charge([{ ...item, charge: { ...item.charge, rates: own, quantities }, record }]);
}

describe("what charges would have cost on another model", () => {
  testEachStore("is added up request by request, each rounded once, by what it used", async (database) => {
    const store = await database.openGateway(new FakeClock());
    const [one, two] = [keyRecord(), keyRecord()];
    for (const key of [one, two]) await store.insertKey(key, 1e15);
    await charge(store, one.id, { input: 1, output: 1 });
    await charge(store, one.id, { input: 1, output: 1 });
    await charge(store, one.id, { input: 900, cached_input: 101 });
    await charge(store, two.id, { input: 500, cached_input: 500, audio_output: 10 });
    await charge(store, two.id, { input: 7 }, { atMs: noonMs - 86_400_000 });
    await charge(store, two.id, { input: 5, web_search: 1 });
    await charge(store, two.id, { input: 5, "gpt-5.6/input": 5 });
    const long = { ...usual, input: 2_000_000 };
    const each = (quantities: Quantities, picoUsd: Record<string, number> = usual) =>
      costNano({ picoUsd, microUsdPerCredit: 1_000_000 }, quantities);
    const ofOne = 2 * each({ input: 1, output: 1 }) + each({ input: 900, cached_input: 101 }, long);
    // Rounding the sum once would be a billionth less.
    expect(2 * each({ input: 1, output: 1 })).toBe(each({ input: 2, output: 2 }) + 1);
    const ofTwo = each({ input: 500, cached_input: 500, output: 10 });
    const ownCost = (quantities: Quantities) => costNano(own, quantities);
    expect(await store.reports.compareCosts(range, prices)).toEqual({
      requests: 4,
      ownNano:
        2 * ownCost({ input: 1, output: 1 }) +
        ownCost({ input: 900, cached_input: 101 }) +
        ownCost({ input: 500, cached_input: 500, audio_output: 10 }),
      comparedNano: ofOne + ofTwo,
      notComparable: { web_search: 1, "several models in one request": 1 },
    });
    expect(await store.reports.compareCosts({ ...range, keyId: one.id }, prices)).toMatchObject({
      requests: 3,
      comparedNano: ofOne,
      notComparable: {},
    });
    const byTier = { priority: { usual: { ...usual, input: 9_000_000, output: 0 }, long: null } };
    const faster = await store.reports.compareCosts({ ...range, keyId: one.id }, { ...prices, byTier });
    expect(faster.comparedNano).toBe(2 * 9_000 + 8_100_000 + 10_100);
    const fee = { ...usual, requests: 5_000_000_000 };
    const withFee = { ...prices, usual: { usual: fee, long: null } };
    expect((await store.reports.compareCosts({ ...range, keyId: one.id }, withFee)).comparedNano).toBe(
      3 * 5_000_000 + 2 * each({ input: 1, output: 1 }) + each({ input: 900, cached_input: 101 }),
    );
    const free = await store.reports.compareCosts(range, { ...prices, isFree: true });
    expect(free).toMatchObject({ requests: 6, comparedNano: 0, notComparable: {} });
  });
});
