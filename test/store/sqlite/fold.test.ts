import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { msPerDay, msPerHour } from "../../../src/base/clock.ts";
import { makeRates } from "../../../src/base/money/rates.ts";
import { noUsage } from "../../../src/base/usage/usage.ts";
import type { JournalItem, Outcome } from "../../../src/store/records.ts";
import { summedColumns } from "../../../src/store/reporting/total-columns.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { dataFolder, removeReports } from "../../../src/store/sqlite/files/folder.ts";
import { perform, sqliteText } from "../../../src/store/sqlite/queries.ts";
import { ReportsFile } from "../../../src/store/sqlite/reports/reports-file.ts";
import { recomputeTotals } from "../../../src/store/tables/recompute.ts";
import { FakeClock } from "../../support/clock.ts";
import { seededRandom } from "../../support/random.ts";
import { keyRecord, outcomeRecordOf, settleItem, temporaryFolder, usageRecord } from "../fixtures.ts";
import { openGatewayStore, sqliteWriter } from "./fixtures.ts";

const outcomes: readonly Outcome[] = ["completed", "failed", "cancelled", "interrupted"];
const startMs = Date.UTC(2026, 10, 15, 23, 58);
const cachingRates = makeRates({
  microUsdPerCredit: 1_000_000,
  picoUsd: { input: 2_000_000, cached_input: 500_000, output: 1000 },
  tiers: [],
  inputAbove: null,
});
const batches = 120;

/** A whole number from 0 up to, and not including, `limit`. */
type Below = (limit: number) => number;

/** A request as the gateway may have to write it, by the dice. */
function randomItem(below: Below, keyIds: readonly string[], batch: number): JournalItem {
  const keyId = keyIds[below(keyIds.length)] ?? "";
  const atMs = startMs + batch * 2000 + below(2000);
  const model = `model ${below(3)}`;
  const provider = below(3) === 0 ? "anthropic" : "openai";
  const outcome = outcomes[below(6)] ?? "completed";
  if (below(12) === 0)
    return { kind: "outcomes", outcomes: [outcomeRecordOf(keyId, { atMs, model, alike: below(3) })] };
  const charged = below(5) === 0 ? 0 : below(100_000);
  const cached = below(3) === 0 ? below(500) : 0;
  const usage = { ...noUsage, inputTokens: below(900), cachedInputTokens: cached, outputTokens: below(90) };
  const item = settleItem(keyId, charged, {
    ...{ atMs, model, provider, outcome, rates: cachingRates },
    owed: below(8) === 0 ? Math.min(charged, below(100)) : 0,
    overrun: below(8) === 0 ? below(100) : 0,
    quantities:
      cached === 0 ? { input: usage.inputTokens } : { input: usage.inputTokens, cached_input: cached },
    listCostNano: below(4) === 0 ? below(1000) : null,
  });
  const { exchangeId } = item.charge;
  const latencies = { firstByteMs: below(4) === 0 ? null : below(3000) / 7, totalMs: below(400_000) / 3 };
  const record = usageRecord(keyId, {
    exchangeId,
    atMs,
    model,
    provider,
    outcome,
    usage,
    costNano: charged,
    ...latencies,
  });
  const hasRecord = outcome === "completed" || outcome === "failed";
  const attempt = {
    ...{
      provider,
      credential: `c${below(2)}`,
      upstreamModel: record.upstreamModel,
      outcome,
      attempts: 1,
      estimated: 0,
    },
    ...{
      inputTokens: usage.inputTokens,
      cachedInputTokens: cached,
      cacheWriteTokens: 0,
      outputTokens: usage.outputTokens,
    },
    ...{
      countedInputTokens: below(9) === 0 ? 1 : 0,
      countedOutputTokens: 0,
      owedNanoUsd: (item.charge.listCostNano ?? charged) + below(2),
    },
  };
  const outcomeRecord =
    hasRecord && below(3) > 0 ? null : outcomeRecordOf(keyId, { exchangeId, atMs, model, outcome });
  return {
    ...item,
    record: hasRecord ? record : null,
    outcomeRecord,
    attempts: below(5) === 0 ? [] : [attempt],
  };
}

/** A database with some keys of both kinds. */
async function preparedDatabase(dir: string, keyIds: readonly string[]): Promise<Database> {
  const store = await openGatewayStore(dir, new FakeClock());
  for (const [place, id] of keyIds.entries()) {
    const mode = place % 2 === 0 ? ("credit" as const) : ("token_budget" as const);
    await store.insertKey(keyRecord({ id, mode }), mode === "credit" ? 1_000_000_000 : 0);
  }
  await store.close();
  return openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 100 });
}

/** All tables of the totals, and the sum of the rows behind them. */
function totalsIn(dir: string) {
  const reports = new ReportsFile(dir);
  try {
    reports.fold();
    const rowsOf = (sql: string) => reports.rows(sqliteText(sql), []);
    return {
      hours: rowsOf("SELECT * FROM usage_hours"),
      latencies: rowsOf("SELECT * FROM latency_hours"),
      uncounted: rowsOf("SELECT * FROM uncounted_usage"),
    };
  } finally {
    reports.close();
  }
}

/** The same from the rows of the ledger alone. */
function totalsOfRows(dir: string): readonly unknown[] {
  using database = openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 100 });
  const sums = (keyNo: string) =>
    `SELECT ${keyNo} AS key_no, at_ms / ${msPerHour} AS hour, model, provider, ${summedColumns} FROM usage_rows GROUP BY 1, 2, 3, 4`;
  return database.query(`${sums("key_no")} UNION ALL ${sums("0")} ORDER BY 1, 2, 3, 4`).all();
}

const keyIds = ["key_a", "key_b", "key_c", "key_d"];

test("totals that are folded in many steps, or at once, are those of the rows, and keys have spent what their entries say", async () => {
  using folder = temporaryFolder();
  using database = await preparedDatabase(folder.dir, keyIds);
  const { below } = seededRandom(45);
  const items = Array.from({ length: batches }, (_, batch) =>
    Array.from({ length: 1 + below(12) }, () => randomItem(below, keyIds, batch)),
  );
  const writer = sqliteWriter(database);
  for (const [batch, each] of items.entries()) {
    await writer.write(each);
    if (batch % 7 === 6) totalsIn(folder.dir);
    // A transaction fails, after some of its rows were written.
    if (batch % 43 === 42) expect(() => writer.write([...each, settleItem("key_unknown", 1)])).toThrow();
  }
  const inSteps = totalsIn(folder.dir);
  expect(inSteps.hours.length).toBeGreaterThan(20);
  expect(inSteps.hours).toEqual([...totalsOfRows(folder.dir)]);
  expect(inSteps.uncounted).toEqual([]);
  removeReports(dataFolder(folder.dir));
  expect(totalsIn(folder.dir)).toEqual(inSteps);
  const keys = perform(database, recomputeTotals()).filter(({ where }) => where === "key");
  expect(keys.map(({ kept }) => kept)).toEqual(keys.map(({ recomputed }) => recomputed));
});

test("a clock that another process finds set back does not make the last charges of the day count twice", async () => {
  using folder = temporaryFolder();
  const clock = new FakeClock();
  const nowMs = clock.wallMs();
  const tomorrowMs = nowMs + msPerDay;
  const operator = await openGatewayStore(folder.dir, clock);
  await operator.insertKey(keyRecord({ id: "key_a" }), 1000);
  using database = openConnection(join(folder.dir, "sluice.db"), { busyTimeoutMs: 100 });
  const writer = sqliteWriter(database);
  await writer.write([settleItem("key_a", 100, { atMs: tomorrowMs, countedAtMs: tomorrowMs })]);
  await writer.write([settleItem("key_a", 7, { atMs: nowMs, countedAtMs: nowMs })]);

  await operator.returnToPresent(nowMs);

  const ofKey = perform(database, recomputeTotals()).find(({ where }) => where === "key");
  expect(ofKey?.kept).toMatchObject({ daySpend: 7n, laterSpend: 100n });
  expect(ofKey?.kept).toEqual(ofKey?.recomputed ?? {});
  await operator.close();
});
