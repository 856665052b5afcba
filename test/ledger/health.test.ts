import { expect } from "bun:test";
import { BatchFailure, type BatchWriter } from "../../src/store/journal/batch-writer.ts";
import { FaultyWriter } from "../simulation/faulty-writer.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { costing } from "../support/rates.ts";
import { waitFor } from "../support/wait.ts";
import { errorOf } from "./error-of.ts";
import { holdFor, openBench, settlement, startProcess } from "./fixtures.ts";

testEachJournal(
  "while charges cannot be written, new holds are refused with 503 and what runs is settled later",
  async (database) => {
    let isFull = false;
    const wrap = (inner: BatchWriter): BatchWriter => ({
      write(items, isAlone) {
        if (isFull) throw new BatchFailure("full", "database or disk is full");
        return inner.write(items, isAlone);
      },
    });
    await using bench = await openBench(database, wrap);
    const key = await bench.addKey({}, 100);
    const running = holdFor(bench.ledger, key, 40);
    isFull = true;
    const settling = bench.ledger.settle(running, settlement(running, 30));
    await waitFor(() => !bench.store.healthy, "the full disk to be noticed");
    const error = errorOf(() => holdFor(bench.ledger, key, 1));
    expect(error.code).toBe("service_unavailable");
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
    isFull = false;
    expect(await settling).toEqual({ charged: 30, overrun: 0 });
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 70 });
  },
);

testEachJournal(
  "a database that is locked for a moment delays charges and refuses nobody",
  async (database) => {
    const writers: FaultyWriter[] = [];
    await using bench = await openBench(database, (inner) => {
      const writer = new FaultyWriter(inner);
      writers.push(writer);
      return writer;
    });
    const key = await bench.addKey({}, 100);
    const first = holdFor(bench.ledger, key, 10);
    writers[0]?.lock();
    const settling = bench.ledger.settle(first, settlement(first, 10));
    await waitFor(() => bench.store.stats.failedBatches > 0, "the lock to be met");
    expect(holdFor(bench.ledger, key, 10).state).toBe("open");
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 100 });
    writers[0]?.unlock();
    await settling;
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 90 });
  },
);

testEachJournal(
  "a settle that the process does not survive is rejected, and never half there",
  async (database) => {
    const writers: FaultyWriter[] = [];
    await using bench = await openBench(database, (inner) => {
      const writer = new FaultyWriter(inner);
      writers.push(writer);
      return writer;
    });
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 10);
    writers[0]?.dieAt("before");
    await expect(bench.ledger.settle(hold, settlement(hold, 10))).rejects.toThrow("may still be charged");
    expect(bench.store.healthy).toBe(false);
    const progressing = errorOf(() => holdFor(bench.ledger, key, 10));
    expect(progressing.code).toBe("service_unavailable");
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id).posted).toBe(100);
    await next.store.close();
  },
);

testEachJournal("progress that cannot be written any more disturbs nobody", async (database) => {
  const writers: FaultyWriter[] = [];
  await using bench = await openBench(database, (inner) => {
    const writer = new FaultyWriter(inner);
    writers.push(writer);
    return writer;
  });
  const key = await bench.addKey({}, 100);
  const hold = holdFor(bench.ledger, key, 10);
  bench.ledger.progress(hold, costing(3));
  writers[0]?.dieAt("before");
  bench.ledger.journalProgress();
  await expect(bench.store.commit([])).rejects.toThrow("dead");
  expect(hold.state).toBe("open");
});
