import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { migrate, migrations } from "../../../src/store/sqlite/migrate.ts";
import { FakeClock } from "../../support/clock.ts";
import { summarizeUsage } from "../../support/usage.ts";
import { temporaryFolder } from "../fixtures.ts";
import { openGatewayStore } from "./fixtures.ts";

const noonMs = Date.UTC(2026, 10, 15, 12);
/** They were counted by the hour in which they began. */
const hour = noonMs / 3_600_000 - 1;
/** The schema before figures had one definition. */
const before = migrations.slice(0, 3);

const entryColumns = `id, key_no, kind, amount, at_ms, exchange_id, basis, outcome, recorded_at_ms, route, model, provider,
  upstream_model, stream, status, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
  reasoning_tokens, cost_nano, first_byte_ms, total_ms, attempts`;

/** Two keys: one with a completed, a failed and a cancelled charge and a failure that cost nothing, one with a budget. */
function fill(database: Database): void {
  for (const [no, mode] of [
    [1, "credit"],
    [2, "token_budget"],
  ] as const) {
    database.run(
      `INSERT INTO keys (no, id, hash, prefix, mode, status, scope, period, created_at_ms, revision)
      VALUES (${no}, 'key_${no}', 'hash_${no}', 'slu_0000000${no}', '${mode}', 'active', 'all', 'none', 0, 0)`,
    );
    database.run(`INSERT INTO accounts (key_no, floor) VALUES (${no}, -1000000)`);
  }
  const record = (model: string) =>
    `${noonMs - 100}, '/v1/messages', '${model}', 'openai', 'up', 1, 200, 10, 2, 0, 5, 0, 70, 40, 100, 1`;
  const none = Array.from({ length: 16 }, () => "NULL").join(", ");
  const rows = [
    `1, 1, 'topup', 1000, ${noonMs}, NULL, NULL, NULL, ${none}`,
    `2, 1, 'charge', -70, ${noonMs}, 'req_1', 'measured', 'completed', ${record("a")}`,
    `3, 1, 'charge', -30, ${noonMs}, 'req_2', 'measured', 'failed', ${record("a")}`,
    `4, 1, 'charge', -5, ${noonMs}, 'req_3', 'estimated', 'cancelled', ${none}`,
    `5, 2, 'charge', -17, ${noonMs}, 'req_4', 'measured', 'completed', ${record("a")}`,
  ];
  for (const row of rows) database.run(`INSERT INTO entries (${entryColumns}) VALUES (${row})`);
  database.run(
    `INSERT INTO usage_hours VALUES (${hour}, 1, 'a', 'openai', 2, 2, 24, 4, 10, 100, 80, 2, 200)`,
  );
  database.run(`INSERT INTO usage_hours VALUES (${hour}, 2, 'a', 'openai', 1, 0, 12, 2, 5, 0, 40, 1, 100)`);
  database.run("UPDATE accounts SET posted = 895, purchased = 1000, used = 105 WHERE key_no = 1");
  database.run("UPDATE accounts SET posted = -17, used = 17 WHERE key_no = 2");
  database.run("UPDATE state SET rolled_up_through = 4");
}

test("figures of an older database are counted anew from its ledger, and its failures stay", async () => {
  using folder = temporaryFolder();
  const file = join(folder.dir, "sluice.db");
  const old = new Database(file, { create: true, strict: true });
  old.run("PRAGMA journal_mode = wal");
  migrate(old, { file, nowMs: noonMs, migrations: before });
  fill(old);
  old.close();
  const store = await openGatewayStore(folder.dir, new FakeClock());
  const keys = await summarizeUsage(store, { by: "key", sinceMs: 0 });
  expect(keys).toMatchObject([
    {
      group: "key_1",
      requests: 2,
      completed: 1,
      failed: 2,
      cancelled: 1,
      spendNano: 105,
      cancelledSpendNano: 5,
      outputTokens: 10,
    },
    { group: "key_2", requests: 1, completed: 1, spendNano: 0, spendTokens: 17, listCostNano: 0 },
  ]);
  for (const by of ["day", "hour", "provider"] as const) {
    const groups = await summarizeUsage(store, { by, sinceMs: 0 });
    expect(groups.reduce((sum, { spendNano }) => sum + spendNano, 0)).toBe(105);
    expect(groups.reduce((sum, { failed }) => sum + failed, 0)).toBe(2);
  }
  const { rows } = await store.reports.exchanges({ limit: 10 });
  expect(rows.map(({ exchangeId, outcome, charged }) => [exchangeId, outcome, charged]).sort()).toEqual([
    ["req_1", "completed", 70],
    ["req_2", "failed", 30],
    ["req_3", "cancelled", 5],
    ["req_4", "completed", 17],
  ]);
  await store.close();
});
