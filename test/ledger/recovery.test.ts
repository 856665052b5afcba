import { describe, expect, jest, test } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";

import { Ledger } from "../../src/ledger/ledger.ts";
import { recoverHolds } from "../../src/ledger/recover.ts";
import { BatchFailure, type BatchWriter } from "../../src/store/journal/batch-writer.ts";
import type { HoldProgress, JournaledStore, JournalItem } from "../../src/store/store.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { costing, nanoRates } from "../support/rates.ts";
import { summarizeUsage } from "../support/usage.ts";
import { waitFor } from "../support/wait.ts";
import { cap } from "./accounts-bench.ts";
import { holdFor, openBench, settlement, startProcess } from "./fixtures.ts";

describe("after a crash", () => {
  testEachJournal(
    "what an open hold had produced is charged as interrupted, without a usage record",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 60);
      bench.ledger.progress(hold, costing(12));
      bench.ledger.journalProgress();
      await bench.store.commit([]);
      const next = await startProcess(database, bench.clock);
      expect(next.ledger.summary(key.id)).toMatchObject({ posted: 88, held: 0, used: 12, requests: 0 });
      const entries = await bench.operator.listEntries({ afterId: 1, limit: 10 });
      expect(entries).toMatchObject([
        { amount: -12, exchangeId: hold.id, outcome: "interrupted", basis: "estimated" },
      ]);
      expect((await bench.operator.load()).openHolds).toEqual([]);
      await next.store.close();
    },
  );

  testEachJournal("today's spend is still there, and gone tomorrow", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 20);
    await bench.ledger.settle(hold, settlement(hold, 20));
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id)).toMatchObject({ todaySpend: 20, lifetimeSpend: 20 });
    bench.clock.advance(86_400_000);
    expect(next.ledger.summary(key.id)).toMatchObject({ todaySpend: 0, lifetimeSpend: 20 });
    await next.store.close();
  });

  testEachJournal("a hold without progress has left no trace and costs nothing", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    holdFor(bench.ledger, key, 60);
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id)).toMatchObject({ posted: 100, held: 0 });
    await next.store.close();
  });

  testEachJournal(
    "progress beyond the balance is charged as far as it goes; the rest is overrun",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 10);
      const hold = holdFor(bench.ledger, key, 10);
      bench.ledger.progress(hold, costing(14));
      bench.ledger.journalProgress();
      await bench.store.commit([]);
      const next = await startProcess(database, bench.clock);
      expect(next.ledger.summary(key.id)).toMatchObject({ posted: 0, used: 10 });
      const entries = await bench.operator.listEntries({ afterId: 1, limit: 10 });
      expect(entries.map(({ kind, amount }) => [kind, amount])).toEqual([
        ["charge", -10],
        ["overrun", 4],
      ]);
      await next.store.close();
    },
  );

  testEachJournal("progress above the cap of a postpaid account is owed", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ isPostpaid: true, caps: [cap(10, "day")] });
    const hold = holdFor(bench.ledger, key, 10);
    bench.ledger.progress(hold, costing(14));
    bench.ledger.journalProgress();
    await bench.store.commit([]);
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id)).toMatchObject({
      posted: -14,
      used: 14,
      caps: [{ used: 14, left: 0 }],
    });
    const entries = await bench.operator.listEntries({ afterId: 0, limit: 10 });
    expect(entries.map(({ kind, amount, outcome }) => [kind, amount, outcome])).toEqual([
      ["charge", -10, "interrupted"],
      ["overrun", -4, "interrupted"],
    ]);
    expect((await audit(bench.operator)).differences).toEqual([]);
    await next.store.close();
  });

  testEachJournal(
    "tokens are charged to the period in which they were admitted, past or present",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
      const past = holdFor(bench.ledger, key, 60);
      bench.ledger.progress(past, costing(50));
      bench.clock.advance(86_400_000);
      const present = holdFor(bench.ledger, key, 60);
      bench.ledger.progress(present, costing(30));
      bench.ledger.journalProgress();
      await bench.store.commit([]);
      const next = await startProcess(database, bench.clock);
      expect(next.ledger.summary(key.id)).toMatchObject({ budgetUsed: 30, budgetHeld: 0 });
      expect(await bench.operator.readTotals(key.id)).toMatchObject({ used: 80, periodUsed: 30 });
      await next.store.close();
    },
  );

  testEachJournal("tokens of a past period are charged after others of the present one", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
    const past = holdFor(bench.ledger, key, 60);
    bench.ledger.progress(past, costing(50));
    bench.ledger.journalProgress();
    bench.clock.advance(86_400_000);
    const present = holdFor(bench.ledger, key, 60);
    await bench.ledger.settle(present, settlement(present, 60));
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id)).toMatchObject({ budgetUsed: 60, budgetHeld: 0 });
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ used: 110, periodUsed: 60 });
    await next.store.close();
  });

  testEachJournal("10,000 open holds are all settled before the ledger is open", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 1_000_000);
    const items = Array.from(
      { length: 10_000 },
      (_, index): JournalItem => ({
        kind: "progress",
        progress: {
          holdId: `req_${index}`,
          keyId: key.id,
          accountId: key.accountId,
          openedAtMs: 0,
          periodStartMs: 0,
          countedAtMs: 0,
          chargeSoFar: 2,
          model: "m",
          requestedModel: null,
          labels: null,
          rates: nanoRates,
          served: null,
          quantities: { output: 2 },
        },
      }),
    );
    await bench.store.commit(items);
    const next = await startProcess(database, bench.clock);
    expect(next.ledger.summary(key.id)).toMatchObject({ posted: 980_000, used: 20_000 });
    await next.store.close();
  });

  testEachJournal(
    "charges that cannot be written are told instead of waited for, and follow at the next start",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 60);
      bench.ledger.progress(hold, costing(12));
      bench.ledger.journalProgress();
      await bench.store.commit([]);
      let isFull = true;
      const full: BatchWriter = {
        write() {
          if (isFull) throw new BatchFailure("full", "database or disk is full");
        },
      };
      const store = await database.openGateway(bench.clock, () => full);
      const { openHolds } = await store.load();
      const settle = ({ chargeSoFar }: HoldProgress) => ({ charged: chargeSoFar, owed: 0, overrun: 0 });
      const recovering = recoverHolds(store, openHolds, settle, bench.clock.wallMs(), 20);
      await expect(recovering).rejects.toThrow(/1 interrupted requests cannot be written.*The disk is full/);
      isFull = false;
      await store.close();
      const next = await startProcess(database, bench.clock);
      expect(next.ledger.summary(key.id)).toMatchObject({ posted: 88, used: 12 });
      await next.store.close();
    },
  );

  testEachJournal("a ledger whose totals disagree is not opened", async (database) => {
    await using bench = await openBench(database);
    await bench.addKey({}, 100);
    const snapshot = await bench.store.load();
    const opening = Ledger.open({
      store: bench.store,
      clock: bench.clock,
      snapshot: { ...snapshot, unbalancedId: "key_1" },
    });
    await expect(opening).rejects.toThrow("sluice ledger audit");
  });

  testEachJournal("a key without an account is a bug that stops the start", async (database) => {
    await using bench = await openBench(database);
    await bench.addKey({}, 100);
    const snapshot = await bench.store.load();
    const opening = Ledger.open({
      store: bench.store,
      clock: bench.clock,
      snapshot: { ...snapshot, accounts: [] },
    });
    await expect(opening).rejects.toThrow("unknown account");
  });
});

test("every hold that a crash left open is charged, however many there are", async () => {
  const written: string[] = [];
  const startedAt = new Set<number | undefined>();
  const commit = async (items: readonly JournalItem[]) => {
    for (const item of items) {
      if (item.kind !== "settle") continue;
      written.push(item.holdId);
      startedAt.add(item.outcomeRecord?.startedAtMs);
    }
  };
  // Only what is needed to end them.
  const store = { problem: null, commit } as unknown as JournaledStore;
  const ids = Array.from({ length: 1_203 }, (_, index) => `req_${index}`);
  const holds = ids.map((holdId) => ({ holdId, served: null, openedAtMs: 7 }) as HoldProgress);
  await recoverHolds(store, holds, () => ({ charged: 1, owed: 0, overrun: 0 }), 0);
  expect(written).toEqual(ids);
  expect([...startedAt]).toEqual([7]);
});

test("a start that has written everything leaves no timer behind", async () => {
  jest.useFakeTimers();
  try {
    const store = { problem: null, commit: async () => {} } as unknown as JournaledStore;
    await recoverHolds(store, [], () => expect.unreachable("there is no hold"), 0);
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
  }
});

describe("progress", () => {
  testEachJournal("reaches the journal by itself, and only its latest figure", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    bench.ledger.progress(hold, costing(3));
    bench.ledger.progress(hold, costing(9));
    bench.ledger.progress(hold, costing(5));
    expect((await bench.operator.load()).openHolds).toEqual([]);
    const isJournaled = async () => (await bench.operator.load()).openHolds.length > 0;
    await waitFor(isJournaled, "the journal to hear of it");
    expect((await bench.operator.load()).openHolds).toMatchObject([{ holdId: hold.id, chargeSoFar: 9 }]);
  });

  testEachJournal(
    "that follows replaces what was journaled, and a crash charges only that",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 60);
      const journaled = async () => (await bench.operator.load()).openHolds.map((row) => row.chargeSoFar);
      bench.ledger.progress(hold, costing(1));
      bench.ledger.journalProgress();
      await bench.store.commit([]);
      expect(await journaled()).toEqual([1]);
      bench.ledger.progress(hold, costing(4));
      expect(await journaled()).toEqual([1]);
      await waitFor(async () => (await journaled())[0] === 4, "the rest to follow by itself");
      const next = await startProcess(database, bench.clock);
      expect(next.ledger.summary(key.id)).toMatchObject({ posted: 96, held: 0, used: 4 });
      await next.store.close();
    },
  );

  testEachJournal("after the end changes nothing, and the end takes the row away", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const settled = holdFor(bench.ledger, key, 10);
    const released = holdFor(bench.ledger, key, 10);
    bench.ledger.progress(settled, costing(1));
    bench.ledger.progress(released, costing(1));
    bench.ledger.journalProgress();
    await bench.ledger.settle(settled, settlement(settled, 2));
    bench.ledger.release(released);
    bench.ledger.progress(settled, costing(5));
    bench.ledger.progress(released, costing(5));
    bench.ledger.journalProgress();
    await bench.store.commit([]);
    expect((await bench.operator.load()).openHolds).toEqual([]);
  });

  testEachJournal("of a stream that ends soon is never written at all", async (database) => {
    const written: string[] = [];
    await using bench = await openBench(database, (inner) => ({
      write(items, isAlone) {
        written.push(...items.map(({ kind }) => kind));
        return inner.write(items, isAlone);
      },
    }));
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 10);
    bench.ledger.progress(hold, costing(1));
    await bench.ledger.settle(hold, settlement(hold, 2));
    bench.ledger.journalProgress();
    await bench.store.commit([]);
    expect(written).toEqual(["settle"]);
  });
});

testEachJournal(
  "what was interrupted is kept with its outcomeRecord, and its charge is part of the spend",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 10);
    bench.ledger.progress(hold, costing(4));
    bench.ledger.journalProgress();
    await bench.store.commit([]);
    const next = await startProcess(database, bench.clock);
    const [row] = (await next.store.reports.exchanges({ limit: 10 })).rows;
    expect(row).toMatchObject({ exchangeId: hold.id, outcome: "interrupted", charged: 4, usage: null });
    // Only a stream has progress to be charged for.
    expect(row).toMatchObject({ stream: true, status: null, attempts: 1, alike: 0 });
    expect(await summarizeUsage(next.store, { by: "model", sinceMs: 0 })).toMatchObject([
      { group: "house-model", requests: 0, interrupted: 1, spendNano: 4, interruptedSpendNano: 4 },
    ]);
    await next.store.close();
  },
);
