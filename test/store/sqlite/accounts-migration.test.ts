import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { audit } from "../../../src/ledger/audit.ts";
import { Ledger } from "../../../src/ledger/ledger.ts";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { FakeClock } from "../../support/clock.ts";
import { isSoak } from "../../support/effort.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { type TemporaryFolder, temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const noonMs = Date.UTC(2026, 10, 15, 12);
/** The schema before keys and accounts were told apart. */
const before = migrations.slice(0, 4);

function oldDatabase({ dir }: TemporaryFolder, fill: (database: Database) => void): void {
  const file = join(dir, "sluice.db");
  const old = new Database(file, { create: true, strict: true });
  old.run("PRAGMA journal_mode = wal");
  old.run("PRAGMA foreign_keys = 1");
  migrate(old, { file, nowMs: noonMs, migrations: before });
  fill(old);
  old.close();
}

function insertKey(
  database: Database,
  no: number,
  mode: string,
  budget: number | null,
  period: string,
): void {
  database
    .query(
      `INSERT INTO keys (no, id, hash, prefix, mode, status, scope, budget_tokens, period, created_at_ms, revision)
      VALUES (?1, 'key_' || ?1, 'hash_' || ?1, 'slu_0000000' || ?1, ?2, 'active', 'all', ?3, ?4, 0, 0)`,
    )
    .run(no, mode, budget, period);
  const floor = mode === "credit" ? 0 : Number.MIN_SAFE_INTEGER;
  database.query("INSERT INTO accounts (key_no, floor) VALUES (?, ?)").run(no, floor);
}

test("an older database gets an account for each key, with its balance, entries and open holds", async () => {
  using folder = temporaryFolder();
  oldDatabase(folder, (database) => {
    insertKey(database, 3, "credit", null, "none");
    insertKey(database, 7, "token_budget", 500, "day");
    database.run(`INSERT INTO entries (id, key_no, kind, amount, at_ms, reference, revision)
      VALUES (1, 3, 'topup', 1000, ${noonMs}, 'order 1', 1)`);
    database.run(`INSERT INTO entries (id, key_no, kind, amount, at_ms, exchange_id, outcome)
      VALUES (2, 3, 'charge', -70, ${noonMs}, 'req_1', 'cancelled')`);
    database.run(
      `UPDATE accounts SET posted = 930, purchased = 1000, used = 70, day = ${noonMs / 86_400_000 - 0.5}, day_spend = 70, period_used = 70
      WHERE key_no = 3`,
    );
    database.run(`INSERT INTO holds VALUES ('req_2', 3, ${noonMs}, 0, 30, 'm')`);
  });
  const clock = new FakeClock();
  const store = await openGatewayStore(folder.dir, clock);
  const snapshot = await store.load();
  expect(snapshot.keys).toMatchObject([
    { id: "key_3", accountId: "acc_3", mode: "credit", budgetTokens: null, period: "none" },
    { id: "key_7", accountId: "acc_7", mode: "token_budget", budgetTokens: 500, period: "day" },
  ]);
  const ledger = await Ledger.open({ store, clock, snapshot });
  expect(ledger.summary("key_3")).toMatchObject({ posted: 900, purchased: 1000, used: 100 });
  expect(ledger.summary("key_7")).toMatchObject({ budgetTokens: 500, budgetRemaining: 500 });
  const again = { keyId: "key_3", amountNano: 1000, reference: "order 1", note: null, atMs: noonMs };
  expect(await store.recordTopUp(again)).toMatchObject({ repeated: true, entry: { id: 1 } });
  await store.recordTopUp({ ...again, reference: "order 2" });
  const entries = await store.listEntries({ afterId: 0, limit: 10, keyId: "key_3" });
  expect(entries.map(({ accountId, keyId, amount }) => [accountId, keyId, amount])).toEqual([
    ["acc_3", "key_3", 1000],
    ["acc_3", "key_3", -70],
    ["acc_3", "key_3", -30],
    ["acc_3", "key_3", 1000],
  ]);
  expect((await store.findKey("acc_7"))?.id).toBe("key_7");
  expect((await audit(store)).differences).toEqual([]);
  const [group] = await summarizeUsage(store, { by: "key", sinceMs: 0 });
  expect(group).toMatchObject({ group: "key_3", spendNano: 100, cancelled: 1, interrupted: 1 });
  await store.close();
});

test(
  "a long ledger is not rewritten for it",
  async () => {
    const entries = isSoak ? 1_000_000 : 50_000;
    using folder = temporaryFolder();
    oldDatabase(folder, (database) => {
      insertKey(database, 1, "credit", null, "none");
      database.run(`WITH RECURSIVE n (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ${entries})
        INSERT INTO entries (id, key_no, kind, amount, at_ms) SELECT id, 1, 'topup', 1, 0 FROM n`);
      database.run(`UPDATE accounts SET posted = ${entries}, purchased = ${entries}`);
      database.run(`UPDATE state SET rolled_up_through = ${entries}`);
    });
    const database = new Database(join(folder.dir, "sluice.db"), { strict: true });
    const read = database.query<{ page: number }, []>(
      "SELECT rootpage AS page FROM sqlite_schema WHERE name = 'entries'",
    );
    const rootPage = read.get();
    const frames = () => database.query<{ log: number }, []>("PRAGMA wal_checkpoint(PASSIVE)").get()?.log;
    frames();
    database.run(`BEGIN; ${migrations[4]}; COMMIT`);
    // What it wrote is in the log: a hundred pages at most, however long the ledger is.
    expect(frames()).toBeLessThan(100);
    expect(read.get()).toEqual(rootPage);
    database.close();
  },
  { timeout: 120_000 },
);
