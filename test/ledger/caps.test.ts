import { expect, test } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";
import { keyRecord } from "../store/fixtures.ts";
import { sqlite } from "../store/sqlite/kind.ts";
import { FakeClock } from "../support/clock.ts";
import { costing } from "../support/rates.ts";
import { cap, openMemory } from "./accounts-bench.ts";
import { describeCaps } from "./caps-suite.ts";
import { holdFor, settlement, startProcess } from "./fixtures.ts";

describeCaps("in memory", openMemory);

test("a new cap that begins yesterday moves on to what is held today", async () => {
  const clock = new FakeClock("2026-11-16T23:59:00Z");
  await using database = await sqlite.create();
  const { store, ledger, watcher } = await startProcess(database, clock);
  const operator = await database.openOperator(clock);
  const key = keyRecord({});
  await operator.insertKey(key, 1_000);
  await watcher.refresh();
  clock.advance(120_000);
  const hold = holdFor(ledger, key, 60);
  await operator.setCaps({ keyId: key.id }, [cap(100, "day")], clock.wallMs() - 120_000);
  await watcher.refresh();
  expect(ledger.summary(key.id).caps).toMatchObject([{ held: 60, resetsAtMs: Date.UTC(2026, 10, 18) }]);
  ledger.release(hold);
  await store.close();
  await operator.close();
});

test("what a crash interrupted yesterday is charged in full, though yesterday's caps are not known any more", async () => {
  const clock = new FakeClock("2026-11-16T23:59:00Z");
  await using database = await sqlite.create();
  const first = await startProcess(database, clock);
  const operator = await database.openOperator(clock);
  const key = keyRecord({ caps: [cap(100, "day")] });
  await operator.insertKey(key, 1_000);
  await first.watcher.refresh();
  const hold = holdFor(first.ledger, key, 80);
  first.ledger.progress(hold, costing(30));
  first.ledger.journalProgress();
  clock.advance(120_000);
  const today = holdFor(first.ledger, key, 20);
  await first.ledger.settle(today, settlement(today, 20));
  const next = await startProcess(database, clock);
  expect(next.ledger.summary(key.id)).toMatchObject({ used: 50, caps: [{ used: 20, held: 0 }] });
  expect((await audit(operator)).differences).toEqual([]);
  await next.store.close();
  await first.store.close();
  await operator.close();
});

test("what a crash interrupted counts in the caps of its period, and nothing stays held", async () => {
  const clock = new FakeClock("2026-11-16T12:00:00Z");
  await using database = await sqlite.create();
  const first = await startProcess(database, clock);
  const operator = await database.openOperator(clock);
  const key = keyRecord({ caps: [cap(100, "day")] });
  await operator.insertKey(key, 1_000);
  await first.watcher.refresh();
  const hold = holdFor(first.ledger, key, 80);
  first.ledger.progress(hold, costing(30));
  first.ledger.journalProgress();
  await first.store.commit([]);
  const next = await startProcess(database, clock);
  expect(next.ledger.summary(key.id).caps).toMatchObject([{ used: 30, held: 0 }]);
  expect((await audit(operator)).differences).toEqual([]);
  await next.store.close();
  await first.store.close();
  await operator.close();
});
