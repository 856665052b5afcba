import type { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { newJournal } from "../journal/fixtures.ts";
import { openGatewayStore, sqliteWriter } from "./fixtures.ts";

function amounts(database: Database): number[] {
  const rows = database.query<{ amount: number }, []>(
    "SELECT amount FROM entries WHERE kind = 'charge' ORDER BY id",
  );
  return rows.all().map(({ amount }) => amount);
}

function requestsCounted(database: Database): number {
  const row = database
    .query<{ count: number }, []>("SELECT coalesce(sum(completed), 0) AS count FROM usage_all_hours")
    .get();
  return row?.count ?? 0;
}

/** Of a database that has one key. */
async function journalOfOneKey(dir: string) {
  const store = await openGatewayStore(dir, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.close();
  const database = openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 0 });
  return { key, database, journal: newJournal(sqliteWriter(database)) };
}

test("totals that cannot be written do not fail the batch: each charge is written once, and counted later from its row", async () => {
  using folder = temporaryFolder();
  const { key, database, journal } = await journalOfOneKey(folder.dir);
  await journal.commit([settleItem(key.id, 1)]);
  database.run(
    "CREATE TRIGGER no_totals BEFORE UPDATE ON rollups BEGIN SELECT raise(ABORT, 'no totals'); END",
  );
  await Promise.all([journal.commit([settleItem(key.id, 2)]), journal.commit([settleItem(key.id, 3)])]);
  await journal.commit([{ kind: "clock", atMs: Date.now() }, settleItem(key.id, 4)]);
  expect(requestsCounted(database)).toBe(0);
  database.run("DROP TRIGGER no_totals");
  expect(journal.healthy).toBe(true);
  expect(journal.unwritten).toEqual([]);
  await journal.close();
  expect(amounts(database)).toEqual([-1, -2, -3, -4]);
  expect(requestsCounted(database)).toBe(4);
  expect(database.query("SELECT count(*) AS rows FROM uncounted_usage").get()).toEqual({ rows: 0 });
  database.close();
});

test("a batch inside a transaction that nobody ended counts as damage, since it would not be durable", async () => {
  using folder = temporaryFolder();
  const { key, database, journal } = await journalOfOneKey(folder.dir);
  database.run("BEGIN");
  await expect(journal.commit([settleItem(key.id, 1)])).rejects.toThrow("transaction");
  expect(journal.healthy).toBe(false);
  database.run("ROLLBACK");
  expect(amounts(database)).toEqual([]);
  await journal.close();
  database.close();
});
