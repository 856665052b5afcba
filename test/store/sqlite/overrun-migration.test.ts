import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { audit } from "../../../src/ledger/audit.ts";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { keyRecord, settleItem, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const atMs = Date.UTC(2026, 10, 15, 12);
/** The schema before overruns were a figure. */
const before = migrations.slice(0, 24);

test("what an older database did not charge is counted in its reports, and its audit agrees", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const clock = new FakeClock(new Date(atMs).toISOString());
  const store = await openGatewayStore(folder.dir, clock);
  const [key, budget] = [keyRecord({ mode: "credit" }), keyRecord({ mode: "token_budget", budgetTokens: 9 })];
  await store.insertKey(key, 100);
  await store.insertKey(budget, 0);
  await store.commit([
    settleItem(key.id, 70, { atMs, overrun: 30 }),
    { ...settleItem(budget.id, 9, { atMs, overrun: 4, listCostNano: 13 }), record: null },
  ]);
  await store.close();
  using database = new Database(file, { strict: true });
  // As it was before: the same tables without the figure.
  const views = ["uncounted_usage", "usage_rows", "attempt_figures", "entry_figures", "ending_figures"];
  for (const view of [...views, "key_totals", "counted_charges"]) database.run(`DROP VIEW ${view}`);
  for (const table of ["usage_minutes", "usage_key_hours", "usage_all_hours", "usage_key_days"]) {
    database.run(`ALTER TABLE ${table} DROP COLUMN overrun_nano`);
    database.run(`ALTER TABLE ${table} DROP COLUMN overrun_tokens`);
  }
  for (const table of ["device_grants", "signed_in_keys"]) database.run(`DROP TABLE ${table}`);
  using empty = new Database(":memory:", { strict: true });
  migrate(empty, { file: ":memory:", nowMs: atMs, migrations: before });
  const old = empty.query<{ sql: string }, []>(
    "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name NOT IN ('uncounted_attempts', 'attempt_totals') ORDER BY rowid",
  );
  const kept = new Set(
    database
      .query<{ sql: string }, []>("SELECT sql FROM sqlite_schema WHERE type = 'view'")
      .all()
      .map(({ sql }) => sql),
  );
  for (const { sql } of old.all()) if (!kept.has(sql)) database.run(sql);
  database.run("PRAGMA user_version = 24");
  database.close();
  const migrated = await openGatewayStore(folder.dir, clock);
  const [total] = await summarizeUsage(migrated, { by: "day", sinceMs: 0 });
  expect(total).toMatchObject({
    requests: 1,
    completed: 2,
    spendNano: 70,
    spendTokens: 9,
    overrunNano: 30,
    overrunTokens: 4,
  });
  expect((await audit(migrated, { nowMs: atMs })).differences).toEqual([]);
  await migrated.close();
});
