import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { AttemptRecord } from "../../../src/base/requests/attempt.ts";
import { type Store, sumTotals } from "../../../src/store/store.ts";
import { type SeededRandom, seededRandom } from "../../support/random.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, outcomeRecordOf, type SettleItem, settleItem } from "../fixtures.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
const nowMs = Date.UTC(2026, 10, 16, 13, 27, 31);
const models = ["a", "b", "c"];

/** Charges of the last three days, and how many tokens each used. */
function charges(random: SeededRandom, keyIds: readonly string[]): SettleItem[] {
  return Array.from({ length: 400 }, () => {
    const keyId = keyIds[random.below(keyIds.length)] ?? "";
    const item = settleItem(keyId, 1 + random.below(900), { atMs: nowMs - random.below(3 * dayMs) });
    const model = models[random.below(3)] ?? "a";
    if (item.record === null) throw new Error("it has a usage record");
    return {
      ...item,
      charge: { ...item.charge, model },
      record: { ...item.record, model, totalMs: 1 + random.below(4_000) },
    };
  });
}

testEachStore("a range is exact to the minute, however old, for every grouping", async (database) => {
  const random = seededRandom(25);
  const store = await database.openGateway(systemClock);
  const keys = [keyRecord(), keyRecord()];
  for (const key of keys) await store.insertKey(key, 1e9);
  const items = charges(
    random,
    keys.map(({ id }) => id),
  );
  await store.charge(items);
  // First with what the sums do not count yet, then with the sums.
  await compareRanges(store, items, random, 15);
  await store.close();
  const again = await database.openGateway(systemClock);
  await compareRanges(again, items, random, 30);
  await again.close();
});

async function compareRanges(
  store: Store,
  items: readonly SettleItem[],
  random: SeededRandom,
  rounds: number,
): Promise<void> {
  const newestMinute = Math.ceil(nowMs / minuteMs);
  const firstKey = items[0]?.charge.keyId ?? "";
  for (let round = 0; round < rounds; round += 1) {
    const untilMs = (newestMinute - random.below(3 * 1440)) * minuteMs;
    const sinceMs = untilMs - (1 + random.below(2 * 1440)) * minuteMs;
    const within = items.filter(({ charge: { atMs } }) => atMs >= sinceMs && atMs < untilMs);
    const spent = (chosen: readonly SettleItem[]) =>
      chosen.reduce((sum, { charge }) => sum + charge.charged, 0);
    const range = { sinceMs, untilMs, nowMs };
    const told = {
      round,
      sinceMs: new Date(sinceMs).toISOString(),
      untilMs: new Date(untilMs).toISOString(),
    };
    for (const by of ["day", "hour", "model", "provider", "key"] as const) {
      const total = sumTotals(await summarizeUsage(store, { by, ...range }));
      expect({ ...told, by, spendNano: total.spendNano, requests: total.requests }).toEqual({
        ...told,
        by,
        spendNano: spent(within),
        requests: within.length,
      });
    }
    const byModel = await summarizeUsage(store, { by: "model", ...range, largest: 2 });
    const expected = models
      .map((model) => spent(within.filter(({ charge }) => charge.model === model)))
      .filter((sum) => sum > 0);
    expect(byModel.map(({ spendNano }) => spendNano)).toEqual(expected.toSorted((a, b) => b - a).slice(0, 2));
    const ofKey = await summarizeUsage(store, { by: "hour", ...range, keyId: firstKey });
    expect(sumTotals(ofKey).spendNano).toBe(spent(within.filter(({ charge }) => charge.keyId === firstKey)));
    for (const { group, spendNano } of await summarizeUsage(store, { by: "hour", ...range })) {
      const fromMs = Date.parse(group);
      const inHour = within.filter(({ charge: { atMs } }) => atMs >= fromMs && atMs < fromMs + hourMs);
      expect({ group, spendNano }).toEqual({ group, spendNano: spent(inHour) });
    }
    const bands = await store.reports.latencyInSteps({ ...range, stepMs: hourMs });
    const timed = bands.filter(({ measure }) => measure === "total");
    expect(timed.reduce((sum, { requests }) => sum + requests, 0)).toBe(within.length);
  }
}

testEachStore("refused calls are in a range by their minute too", async (database) => {
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const at = (minutesAgo: number) => nowMs - minutesAgo * minuteMs;
  await store.recordOutcomes([1, 30, 60, 1441].map((ago) => outcomeRecordOf(key.id, { atMs: at(ago) })));
  await store.close();
  const again = await database.openGateway(systemClock);
  const refused = async (sinceMs: number, untilMs: number) =>
    sumTotals(await summarizeUsage(again, { by: "day", sinceMs, untilMs })).rejected;
  expect(await refused(at(1440), at(-1))).toBe(3);
  expect(await refused(at(1442), at(-1))).toBe(4);
  expect(await refused(at(1442), at(31))).toBe(2);
  await again.close();
});

testEachStore("attempts that failed before a call completed are counted for who failed", async (database) => {
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  const attempt: AttemptRecord = {
    deployment: "flaky/m",
    provider: "flaky",
    upstreamModel: "m",
    status: 500,
    code: null,
    failure: "status_500",
    cause: null,
    said: null,
    durationMs: 4,
    left: "next_deployment",
  };
  const attemptDetails = [
    attempt,
    { ...attempt, failure: "timeout" },
    { ...attempt, provider: "openai", failure: null },
  ];
  const item = settleItem(key.id, 5, { atMs: nowMs });
  const outcomeRecord = outcomeRecordOf(key.id, {
    ...{ exchangeId: item.charge.exchangeId, atMs: nowMs, model: "house-model", provider: "openai" },
    ...{ outcome: "completed", status: 200, attempts: 3, attemptDetails },
  });
  const failed = { ...outcomeRecord, exchangeId: "req_x", outcome: "failed", status: 502 } as const;
  await store.charge([{ ...item, outcomeRecord }]);
  await store.recordOutcomes([failed]);
  const covered = async (from: typeof store) => {
    const groups = await summarizeUsage(from, { by: "provider", sinceMs: 0 });
    return groups.map(({ group, coveredAttempts, completed }) => [group, coveredAttempts, completed]);
  };
  const expected = [
    ["flaky", 2, 0],
    ["openai", 0, 1],
  ];
  expect(await covered(store)).toEqual(expected);
  await store.close();
  const again = await database.openGateway(systemClock);
  expect(await covered(again)).toEqual(expected);
  await again.close();
});
