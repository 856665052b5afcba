import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { systemClock } from "../../../src/base/clock.ts";
import { keyRecord, settleItem } from "../fixtures.ts";
import { sqlite } from "./kind.ts";

/** The tables that most queries join. */
const joined = ["accounts", "keys", "caps", "entries", "holds", "exchange_endings"];

/** Gives each of them the columns of all others, as if it had got a new one with a name that another has. */
function widenTables(dir: string): void {
  using database = new Database(join(dir, "sluice.db"));
  const columnsOf = (table: string) =>
    database
      .query<{ name: string }, [string]>("SELECT name FROM pragma_table_xinfo(?)")
      .all(table)
      .map(({ name }) => name);
  const all = new Set(joined.flatMap(columnsOf));
  database.transaction(() => {
    for (const table of joined) {
      const missing = all.difference(new Set(columnsOf(table)));
      for (const column of missing) database.run(`ALTER TABLE ${table} ADD COLUMN ${column} ANY`);
    }
  })();
}

test("a column that a table gets makes no query ambiguous, whatever other table has one of its name", async () => {
  await using folder = await sqlite.create({ isVolatile: true });
  const key = keyRecord();
  const item = settleItem(key.id, 70);
  const { exchangeId } = item.charge;
  const gateway = await folder.openGateway(systemClock);
  await gateway.insertKey(key, 1000);
  await gateway.setCaps({ keyId: key.id }, [{ limit: 500, period: "day", models: null }], Date.now());
  await gateway.charge([item]);
  await gateway.close();
  widenTables(folder.dir);
  const store = await folder.openOperator(systemClock);
  const range = { sinceMs: 0, untilMs: Date.now() + 1 };
  const today = Math.floor(Date.now() / 86_400_000);
  const { keys } = await store.load();
  expect(keys.map(({ id }) => id)).toContain(key.id);
  expect(await store.findKey(key.id)).toMatchObject({ id: key.id });
  expect((await store.changesSince(0)).keys).toHaveLength(1);
  expect((await store.listKeys({ search: key.prefix, limit: 10 })).keys).toHaveLength(1);
  expect(await store.keysNamed(key.prefix, 10)).toHaveLength(1);
  expect(await store.readAccounts([key.accountId])).toHaveLength(1);
  expect(await store.readTotals(key.id)).toMatchObject({ posted: 930, spent: 70, requests: 1 });
  expect(await store.listEntries({ afterId: 0, limit: 10 })).toHaveLength(2);
  expect(await store.auditSums()).toEqual([]);
  expect(
    (await store.recomputeTotals()).filter(({ kept, recomputed }) => !Bun.deepEquals(kept, recomputed)),
  ).toEqual([]);
  const { reports } = store;
  expect(await reports.usageBy("model", range)).toHaveLength(1);
  expect(await reports.usageBy("key", range)).toHaveLength(1);
  expect(await reports.keyDays([key.id], 0, today)).toHaveLength(1);
  expect((await reports.keyLastDays([key.id])).size).toBe(1);
  expect((await reports.exchanges({ limit: 10 })).rows).toHaveLength(1);
  expect(await reports.exchange(exchangeId, null)).toMatchObject({ exchange: { exchangeId } });
  expect((await reports.entries({ limit: 10 })).rows).toHaveLength(2);
  expect(await reports.statements(range)).toHaveLength(1);
  await store.close();
}, 60_000);
