import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { utcDay } from "../../../src/base/clock.ts";
import type { AttemptCount, JournalItem } from "../../../src/store/records.ts";
import { FakeClock } from "../../support/clock.ts";
import { attempt, served } from "../attempts.ts";
import { keyRecord, settleItem, temporaryFolder, usageRecord } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const noonMs = Date.UTC(2026, 10, 15, 12);
const dayMs = 86_400_000;

/** A charge with the record that its attempt would have, and the attempt, unless told otherwise. */
function charged(keyId: string, atMs: number, overrides: Partial<AttemptCount> = {}): JournalItem {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, owedNanoUsd: costNano } = attempt();
  const record = usageRecord(keyId, {
    upstreamModel: served.upstreamModel,
    usage: { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens: 0 },
    costNano,
  });
  return { ...settleItem(keyId, costNano, { atMs }), record, attempts: [attempt(overrides)] };
}

/** Every way in which an attempt may differ from what the row of its charge says. */
const differences: readonly Partial<AttemptCount>[] = [
  { provider: "anthropic" },
  { upstreamModel: "another" },
  { outcome: "failed" },
  { estimated: 1 },
  { inputTokens: 11 },
  { cachedInputTokens: 5 },
  { cacheWriteTokens: 4 },
  { outputTokens: 6 },
  { countedInputTokens: 1 },
  { countedOutputTokens: 1 },
  { owedNanoUsd: 101 },
];

function tables(dir: string): readonly unknown[] {
  const database = new Database(join(dir, "sluice.db"));
  try {
    return ["SELECT * FROM attempt_sums", "SELECT * FROM key_sums"].map((sql) => database.query(sql).all());
  } finally {
    database.close();
  }
}

test("what keys and attempts have used is told at once, and added up once: by the gateway, or after a kill", async () => {
  using folder = temporaryFolder();
  const clock = new FakeClock();
  const store = await openGatewayStore(folder.dir, clock);
  const [one, two] = [keyRecord(), keyRecord()];
  for (const key of [one, two]) await store.insertKey(key, 100_000);
  const cancelled: JournalItem = {
    ...settleItem(two.id, 7, { atMs: noonMs + dayMs, outcome: "cancelled" }),
    record: null,
    attempts: [attempt({ outcome: "cancelled" }), attempt({ credential: "c2" })],
  };
  await store.commit([charged(one.id, noonMs - dayMs), charged(one.id, noonMs), charged(two.id, noonMs)]);
  await store.commit([charged(one.id, noonMs, { credential: "c2" }), cancelled]);
  await store.commit(differences.map((each) => charged(two.id, noonMs, each)));

  expect(await store.readTotals(one.id)).toMatchObject({
    ...{ spent: 300, day: utcDay(noonMs), daySpend: 200, requests: 3 },
    ...{ inputTokens: 51, outputTokens: 15, lastCostNano: 100 },
  });
  expect(await store.readTotals(two.id)).toMatchObject({
    ...{ spent: 1_207, day: utcDay(noonMs + dayMs), daySpend: 7, requests: 12, lastCostNano: 100 },
  });
  const read = () =>
    Array.fromAsync(store.reports.attemptPages(served.provider, 0, utcDay(noonMs) + 1)).then((pages) =>
      pages.flat(),
    );
  const told = await read();
  const usual = { ...served, outcome: "completed", day: utcDay(noonMs) } as const;
  expect(told).toContainEqual(
    expect.objectContaining({ ...usual, attempts: 10, estimated: 1, inputTokens: 101, owedNanoUsd: 1_001 }),
  );
  expect(told.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(16);

  using killed = temporaryFolder();
  cpSync(folder.dir, killed.dir, { recursive: true });
  await store.commit([]);
  await store.close();
  await (await openGatewayStore(killed.dir, clock)).close();
  expect(tables(killed.dir)).toEqual(tables(folder.dir));
  const next = await openGatewayStore(folder.dir, clock);
  expect(
    (await Array.fromAsync(next.reports.attemptPages(served.provider, 0, utcDay(noonMs) + 1))).flat(),
  ).toEqual(told);
  expect(await next.readTotals(two.id)).toMatchObject({ spent: 1_207, daySpend: 7, requests: 12 });
  await next.close();
});
