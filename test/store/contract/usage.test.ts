import { describe, expect } from "bun:test";
import type { Store } from "../../../src/store/store.ts";
import { FaultyWriter } from "../../simulation/faulty-writer.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage, usageRecords } from "../../support/usage.ts";
import { testEachJournal } from "../each-journal.ts";
import { testEachStore } from "../each-store.ts";
import { keyRecord, settleItem, usageRecord } from "../fixtures.ts";
import type { GatewayStore } from "../kind.ts";

const dayMs = 86_400_000;
const noonMs = Date.UTC(2026, 10, 15, 12);

async function commitRecord(store: GatewayStore, keyId: string, changes: Parameters<typeof usageRecord>[1]) {
  const record = usageRecord(keyId, changes);
  const { outcome, atMs } = record;
  await store.charge([{ ...settleItem(keyId, record.costNano, { outcome, atMs }), record }]);
}

describe("sums of usage", () => {
  testEachStore("are right at once, before and after they are rolled up", async (database) => {
    const clock = new FakeClock();
    const store = await database.openGateway(clock);
    const [one, two] = [keyRecord(), keyRecord()];
    await store.insertKey(one, 10_000);
    await store.insertKey(two, 10_000);
    await commitRecord(store, one.id, { model: "a", atMs: noonMs - dayMs });
    await commitRecord(store, one.id, { model: "b", outcome: "failed", firstByteMs: null });
    await commitRecord(store, two.id, { model: "b", provider: "anthropic", totalMs: 400_000 });
    const check = async (reader: Store) => {
      const by = async (group: "day" | "hour" | "model" | "provider" | "key", sinceMs = 0) =>
        (await summarizeUsage(reader, { by: group, sinceMs })).map((sums) => [sums.group, sums.requests]);
      expect(await by("day")).toEqual([
        ["2026-11-14", 1],
        ["2026-11-15", 2],
      ]);
      expect(await by("hour", noonMs)).toEqual([["2026-11-15T12:00Z", 2]]);
      expect(await by("model")).toEqual([
        ["a", 1],
        ["b", 2],
      ]);
      expect(await by("provider")).toEqual([
        ["anthropic", 1],
        ["openai", 2],
      ]);
      expect(new Map((await by("key")) as [string, number][])).toEqual(
        new Map([
          [one.id, 2],
          [two.id, 1],
        ]),
      );
      const query = { by: "model", sinceMs: noonMs, untilMs: noonMs + 3_600_000, keyId: one.id } as const;
      expect(await summarizeUsage(reader, query)).toEqual([
        {
          group: "b",
          requests: 1,
          completed: 0,
          failed: 1,
          rejected: 0,
          cancelled: 0,
          interrupted: 0,
          inputTokens: 14,
          cachedInputTokens: 4,
          outputTokens: 5,
          spendNano: 100,
          cancelledSpendNano: 0,
          interruptedSpendNano: 0,
          spendTokens: 0,
          cancelledSpendTokens: 0,
          interruptedSpendTokens: 0,
          listCostNano: 0,
          cacheSavingsNano: 0,
          overrunNano: 0,
          overrunTokens: 0,
          firstByteMs: 0,
          firstByteCount: 0,
          totalMs: 81,
          totalCount: 1,
          coveredAttempts: 0,
        },
      ]);
    };
    await check(store);
    await store.close();
    const reopened = await database.openGateway(clock);
    await check(reopened);
    await reopened.close();
  });

  testEachJournal("survive a crash before they were rolled up, counted once", async (database) => {
    const clock = new FakeClock();
    const key = keyRecord();
    const writers: FaultyWriter[] = [];
    const first = await database.openGateway(clock, (inner) => {
      const writer = new FaultyWriter(inner);
      writers.push(writer);
      return writer;
    });
    await first.insertKey(key, 10_000);
    for (let count = 0; count < 3; count += 1) await first.charge([settleItem(key.id, 1)]);
    writers[0]?.dieAt("before");
    await first.commit([]).catch(() => {});
    await first.close();
    for (let start = 0; start < 2; start += 1) {
      const next = await database.openGateway(clock);
      expect(await summarizeUsage(next, { by: "key", sinceMs: 0 })).toMatchObject([
        { requests: 3, spendNano: 3 },
      ]);
      await next.close();
    }
  });
});

testEachStore("usage records come back as they were, newest first, by key", async (database) => {
  const store = await database.openGateway(new FakeClock());
  const [one, two] = [keyRecord(), keyRecord()];
  await store.insertKey(one, 10_000);
  await store.insertKey(two, 10_000);
  const item = settleItem(one.id, 7);
  await store.charge([item]);
  await commitRecord(store, two.id, { status: 201, stream: true });
  const all = await usageRecords(store);
  expect(all).toMatchObject([
    { keyId: two.id, status: 201, stream: true },
    { ...item.record, firstByteMs: 12, totalMs: 81 },
  ]);
  expect(await usageRecords(store, { keyId: two.id })).toEqual(all.slice(0, 1));
  await store.close();
});
