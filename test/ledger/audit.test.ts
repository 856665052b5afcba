import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { audit, checkTotals } from "../../src/ledger/audit.ts";
import { emptyTotals } from "../../src/store/store.ts";
import { keyRecord } from "../store/fixtures.ts";
import { holdFor, openBench, settlement } from "./fixtures.ts";

test("an audit of an honest ledger finds nothing, whatever kinds of entries it has", async () => {
  await using bench = await openBench();
  const key = await bench.addKey({}, 100);
  const budget = await bench.addKey({ mode: "token_budget", budgetTokens: 50, period: "week" });
  for (const [payer, cost] of [
    [key, 60],
    [key, 70],
    [budget, 30],
  ] as const) {
    const hold = holdFor(bench.ledger, payer, 20);
    await bench.ledger.settle(hold, settlement(hold, cost));
  }
  const correction = { keyId: key.id, amountNano: 15, reference: null, note: "goodwill", atMs: 0 };
  await bench.operator.recordAdjustment(correction);
  expect(await audit(bench.operator)).toEqual({ accounts: 2, differences: [] });
});

test("an audit names every total that was tampered with", async () => {
  await using bench = await openBench();
  const key = await bench.addKey({}, 100);
  const hold = holdFor(bench.ledger, key, 20);
  await bench.ledger.settle(hold, settlement(hold, 20));
  const intruder = new Database(join(bench.dir, "sluice.db"));
  intruder.run("UPDATE accounts SET posted = posted + 1000, requests = 7");
  intruder.close();
  expect((await audit(bench.operator)).differences).toEqual([
    { keyId: key.id, field: "posted", kept: 1080, recomputed: 80 },
    { keyId: key.id, field: "requests", kept: 7, recomputed: 1 },
  ]);
});

test("entries cannot be changed or deleted, not even by hand", async () => {
  await using bench = await openBench();
  await bench.addKey({}, 100);
  const intruder = new Database(join(bench.dir, "sluice.db"));
  expect(() => intruder.run("UPDATE entries SET amount = 1")).toThrow("only ever added");
  expect(() => intruder.run("DELETE FROM entries")).toThrow("only ever added");
  intruder.close();
});

test("totals that disagree with one another are found without reading the history", () => {
  const key = keyRecord();
  const honest = {
    ...emptyTotals(key.id),
    posted: 60,
    purchased: 100,
    used: 40,
    daySpend: 40,
    periodUsed: 40,
  };
  const wrong = [{ posted: 61 }, { daySpend: 41 }, { periodUsed: 41 }, { posted: -1, purchased: 39 }];
  const check = (changes: object) => () =>
    checkTotals({ revision: 0, keys: [key], openHolds: [], accounts: [{ ...honest, ...changes }] });
  expect(check({})).not.toThrow();
  for (const changes of wrong) expect(check(changes)).toThrow("does not add up");
});
