import { expect } from "bun:test";
import { systemClock } from "../../../src/base/clock.ts";
import { makeRates, type Rates } from "../../../src/base/money/rates.ts";
import type { ListedEntry } from "../../../src/store/store.ts";
import { nanoRates } from "../../support/rates.ts";
import { summarizeUsage, usageRecords } from "../../support/usage.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, type SettleItem, settleItem } from "../fixtures.ts";
import type { TestDatabase } from "../kind.ts";

/** A charge whose every figure is its own, so that a value in a neighbour's row or column is found. */
function distinctItem(keyId: string, number: number): SettleItem {
  const item = settleItem(keyId, number, {
    atMs: 10_000 + number,
    periodStartMs: 20_000 + number,
    requestedModel: number % 2 === 0 ? null : `alias-${number}`,
    rates: ratesOf(number % 4),
    quantities: { input: 110_000 + number, web_search: number },
    listCostNano: number % 3 === 0 ? null : 120_000 + number,
  });
  const usage = {
    inputTokens: 30_000 + number,
    cachedInputTokens: 40_000 + number,
    cacheWriteTokens: 50_000 + number,
    outputTokens: 60_000 + number,
    reasoningTokens: 70_000 + number,
  };
  const record = {
    ...usageOf(item),
    atMs: 80_000 + number,
    route: `/route/${number}`,
    upstreamModel: `upstream-${number}`,
    stream: number % 2 === 0,
    status: 200 + number,
    usage,
    firstByteMs: number % 3 === 0 ? null : 90_000 + number,
    totalMs: 100_000 + number,
    attempts: number,
  };
  return { ...item, record };
}

function usageOf({ record }: SettleItem): NonNullable<SettleItem["record"]> {
  if (record === null) throw new Error("the charge has a usage record");
  return record;
}

async function storeWithKey(database: TestDatabase) {
  const store = await database.openGateway(systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000_000);
  return { store, keyId: key.id };
}

function ratesOf(number: number): Rates {
  return makeRates({ ...nanoRates, picoUsd: { input: 1_000 + number }, tiers: number === 0 ? ["flex"] : [] });
}

function figures(entry: ListedEntry) {
  const { id, accountId, keyId, reference, note, countedAtMs, hash, chained, ...charge } = entry;
  return charge;
}

function chargeFigures(item: SettleItem): ReturnType<typeof figures> {
  const { keyId, accountId, countedAtMs, charged, owed, overrun, rates, labels, ...rest } = item.charge;
  const { costNano, atMs: startedAtMs, totalMs } = usageOf(item);
  const audited = { ratesId: rates?.id ?? null, costNano, startedAtMs, totalMs };
  return { kind: "charge", amount: -charged, ...rest, rates: rates?.text ?? null, ...audited };
}

// Around the size of a statement, where rows are written with the next one or left over.
for (const count of [1, 2, 31, 32, 33, 64, 75]) {
  testEachStore(
    `a batch of ${count} charges is as many entries and usage records, in order and column by column`,
    async (database) => {
      const { store, keyId } = await storeWithKey(database);
      const items = Array.from({ length: count }, (_, index) => distinctItem(keyId, index + 1));
      await store.charge(items);
      const charges = (await store.listEntries({ afterId: 0, limit: 1_000 })).filter(
        ({ kind }) => kind === "charge",
      );
      expect(charges.map(figures)).toEqual(items.map(chargeFigures));
      const records = (await usageRecords(store)).toReversed();
      expect(records.map(({ id, ...record }) => record)).toEqual(items.map(usageOf));
      expect(records.map(({ id }) => id)).toEqual(charges.map(({ id }) => id));
      await store.close();
    },
  );
}

testEachStore(
  "what a charge rests on is read from its usage record where that says the same, and else as it was told",
  async (database) => {
    const { store, keyId } = await storeWithKey(database);
    const usage = {
      ...{ inputTokens: 12, cachedInputTokens: 0, cacheWriteTokens: 7, outputTokens: 4, reasoningTokens: 1 },
    };
    const plain = { input: 12, cache_write: 7, output: 4 };
    const told = [plain, { ...plain, web_search: 2 }, { input: 12, cache_write: 7, output: 3 }, {}];
    const items = told.map((quantities) => {
      const item = settleItem(keyId, 1, { quantities });
      return { ...item, record: { ...usageOf(item), usage } };
    });
    await store.charge([...items, { ...settleItem(keyId, 5, { quantities: plain }), record: null }]);
    const unexplained = { rates: null, quantities: null };
    await store.charge([settleItem(keyId, 6, unexplained)]);
    const entries = await store.listEntries({ afterId: 1, limit: 10 });
    expect(entries.map(({ quantities }) => quantities)).toEqual([...told, plain, null]);
    expect(entries.map(({ rates }) => rates)).toEqual([...Array(5).fill(nanoRates.text), null]);
    await store.close();
  },
);

testEachStore(
  "rates that were to be kept in a batch that failed are kept with the next",
  async (database) => {
    const { store, keyId } = await storeWithKey(database);
    await expect(store.charge([settleItem(keyId, 1), settleItem("key_unknown", 2)])).rejects.toThrow(
      "no key",
    );
    await store.charge([settleItem(keyId, 4)]);
    const [entry] = await store.listEntries({ afterId: 1, limit: 10 });
    expect(entry?.rates).toBe(nanoRates.text);
    await store.close();
  },
);

testEachStore(
  "an overrun and a charge without a usage record stay where they came in a batch",
  async (database) => {
    const { store, keyId } = await storeWithKey(database);
    await store.charge([
      settleItem(keyId, 1),
      settleItem(keyId, 2, { overrun: 5 }),
      { ...settleItem(keyId, 3), record: null },
      settleItem(keyId, 4),
    ]);
    const entries = await store.listEntries({ afterId: 1, limit: 10 });
    expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
      ["charge", -1],
      ["charge", -2],
      ["overrun", 5],
      ["charge", -3],
      ["charge", -4],
    ]);
    await store.close();
  },
);

testEachStore("charges of a batch that was rolled back are not written with the next", async (database) => {
  const { store, keyId } = await storeWithKey(database);
  await expect(store.charge([settleItem(keyId, 1), settleItem("key_unknown", 2)])).rejects.toThrow("no key");
  await store.charge([settleItem(keyId, 4)]);
  const entries = await store.listEntries({ afterId: 1, limit: 10 });
  expect(entries.map(({ amount }) => amount)).toEqual([-4]);
  expect(await store.readTotals(keyId)).toMatchObject({ used: 4, requests: 1 });
  await store.close();
});

testEachStore(
  "usage is counted through the last entry of a batch, whatever kind that is",
  async (database) => {
    const { store, keyId } = await storeWithKey(database);
    const atMs = Date.UTC(2026, 0, 31, 12);
    const record = { ...usageOf(settleItem(keyId, 1)), atMs };
    await store.charge([{ ...settleItem(keyId, 1), record }]);
    await store.charge([{ ...settleItem(keyId, 2, { overrun: 3 }), record }]);
    await store.close();
    const again = await database.openGateway(systemClock);
    expect(await summarizeUsage(again, { by: "key", sinceMs: 0 })).toMatchObject([{ requests: 2 }]);
    const ofRoute = await summarizeUsage(again, { by: "route", sinceMs: 0 });
    expect(ofRoute).toMatchObject([{ requests: 2, overrunNano: 3 }]);
    await again.close();
  },
);
