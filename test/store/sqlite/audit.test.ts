import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { audit, checkTotals } from "../../../src/ledger/audit.ts";
import type { Store } from "../../../src/store/store.ts";
import { holdFor, openBench, settlement, startProcess } from "../../ledger/fixtures.ts";
import { settleItem } from "../fixtures.ts";
import { sqlite } from "./kind.ts";

/** One purchase of three, which together are more than 2^53 nano-credits, and odd: a double cannot hold that. */
const bought = 3_100_000_000_000_001n;
const beyondDouble = 3n * bought;

test("an audit names every total that was tampered with", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const hold = holdFor(bench.ledger, key, 20);
  await bench.ledger.settle(hold, settlement(hold, 20));
  await bench.store.close();
  const intruder = new Database(join(database.dir, "sluice.db"));
  intruder.run("UPDATE accounts SET posted = posted + 1000");
  intruder.run("UPDATE key_sums SET requests = 7");
  intruder.close();
  expect((await audit(bench.operator)).differences).toEqual([
    { keyId: key.id, where: "account", field: "posted", kept: 1080, recomputed: 80 },
    { keyId: key.id, where: "key", field: "requests", kept: 7, recomputed: 1 },
  ]);
});

test("an audit names an exchange that was charged twice", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const late = settleItem(key.id, 3, { exchangeId: "req_late" });
  const interrupted = settleItem(key.id, 2, { exchangeId: "req_late", outcome: "interrupted" });
  await bench.store.commit([{ ...interrupted, record: null }, late]);
  const once = settleItem(key.id, 20);
  await bench.store.commit([once]);
  expect(await charges(bench.operator)).toEqual([]);
  await bench.store.commit([{ ...once, record: null }]);
  expect(await charges(bench.operator)).toEqual([
    { keyId: key.id, where: `exchange ${once.holdId}`, field: "charges", kept: 2, recomputed: 1 },
  ]);
});

async function charges(store: Store) {
  const { differences } = await audit(store);
  return differences.filter(({ field }) => field === "charges");
}

test("entries cannot be changed or deleted, not even by hand", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  await bench.addKey({}, 100);
  const intruder = new Database(join(database.dir, "sluice.db"));
  expect(() => intruder.run("UPDATE entries SET amount = 1")).toThrow("only ever added");
  expect(() => intruder.run("DELETE FROM entries")).toThrow("only ever added");
  intruder.close();
});

test("totals that disagree with one another are found without reading the history", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const hold = holdFor(bench.ledger, key, 40);
  await bench.ledger.settle(hold, settlement(hold, 40));
  await bench.store.close();
  const check = async () => checkTotals(await bench.operator.load());
  await check();
  const intruder = new Database(join(database.dir, "sluice.db"));
  for (const wrong of [
    "accounts SET posted = 61",
    "key_sums SET day_spend = 41",
    "accounts SET period_used = 41",
    "accounts SET posted = -1, purchased = 39",
  ]) {
    intruder.run(`UPDATE ${wrong}`);
    await expect(check()).rejects.toThrow(`The ledger of ${key.id} is inconsistent`);
    intruder.run("UPDATE accounts SET posted = 60, purchased = 100, used = 40, period_used = 40");
    intruder.run("UPDATE key_sums SET day_spend = 40");
  }
  intruder.close();
  await check();
});

test("a key whose lifetime sums are larger than a double holds starts, charges and audits clean", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 1_000);
  await bench.store.close();
  const history = new Database(join(database.dir, "sluice.db"), { safeIntegers: true });
  history
    .query(`INSERT INTO entries (key_no, kind, amount, at_ms)
      SELECT no, kinds.column1, sign * ?1, 0
      FROM (SELECT no FROM keys WHERE no > 0) AS keys, (SELECT 'topup' AS column1, 1 AS sign UNION ALL SELECT 'charge', -1) AS kinds,
        (VALUES (1), (2), (3)) AS times`)
    .run(bought);
  // All of it is from before the chain.
  history.run("DROP TRIGGER entries_are_never_changed");
  history.run("UPDATE entries SET hash = NULL");
  history
    .query(
      "UPDATE accounts SET chain_hash = NULL, purchased = purchased + ?1, used = used + ?1, period_used = ?1",
    )
    .run(beyondDouble);
  history.query("UPDATE key_sums SET spent = ?1, day_spend = ?1").run(beyondDouble);
  history.close();

  const next = await startProcess(database, bench.clock);
  for (let call = 0; call < 3; call += 1) {
    const hold = holdFor(next.ledger, key, 101);
    await next.ledger.settle(hold, settlement(hold, 101));
  }
  expect(next.ledger.summary(key.id)).toMatchObject({ posted: 697, available: 697, held: 0 });
  expect(await audit(bench.operator)).toEqual({ accounts: 1, entries: 10, differences: [], anchor: null });
  checkTotals(await bench.operator.load());
  await next.store.close();

  const intruder = new Database(join(database.dir, "sluice.db"));
  intruder.run("UPDATE accounts SET used = used + 1");
  intruder.close();
  expect((await audit(bench.operator)).differences).toEqual([
    {
      keyId: key.id,
      where: "account",
      field: "used",
      kept: String(beyondDouble + 304n),
      recomputed: String(beyondDouble + 303n),
    },
  ]);
});

test("what a key is given in its life is bounded, in words", async () => {
  await using database = await sqlite.create();
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 1_000);
  const rich = new Database(join(database.dir, "sluice.db"), { safeIntegers: true });
  rich
    .query("UPDATE accounts SET purchased = purchased + ?1, used = used + ?1")
    .run(999_999_999_999_999_000n);
  rich.close();
  const topUp = { keyId: key.id, amountNano: 1, reference: null, note: null, atMs: 0 };
  await expect(bench.operator.recordTopUp({ ...topUp, amountNano: 1_000_000 })).rejects.toThrow(
    "at most 1000000000 credits in total",
  );
});
