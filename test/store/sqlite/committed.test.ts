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

/** Of a database that has one key. */
async function journalOfOneKey(dir: string) {
  const store = await openGatewayStore(dir, systemClock);
  const key = keyRecord();
  await store.insertKey(key, 1_000);
  await store.close();
  const database = openConnection(join(dir, "sluice.db"), { busyTimeoutMs: 0 });
  return { key, database, journal: newJournal(sqliteWriter(database)) };
}

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
