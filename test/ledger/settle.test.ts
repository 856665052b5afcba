import { describe, expect, spyOn } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";
import type { Entry, Store } from "../../src/store/store.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { costing } from "../support/rates.ts";
import { usageRecords } from "../support/usage.ts";
import { holdFor, openBench, settlement } from "./fixtures.ts";

async function entriesOf(store: Store, kind: Entry["kind"]): Promise<readonly Entry[]> {
  const entries = await store.listEntries({ afterId: 0, limit: 1_000 });
  return entries.filter((entry) => entry.kind === kind);
}

describe("settling", () => {
  testEachJournal(
    "charges the real cost, gives the rest back, and is on disk when it resolves",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 60);
      const settled = await bench.ledger.settle(hold, settlement(hold, 25));
      expect(settled).toEqual({ charged: 25, overrun: 0 });
      expect(hold.state).toBe("settled");
      expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 75, used: 25, requests: 1 });
      expect(bench.ledger.summary(key.id)).toMatchObject({
        posted: 75,
        held: 0,
        available: 75,
        purchased: 100,
        used: 25,
        todaySpend: 25,
        lifetimeSpend: 25,
        lastCostNano: 25,
        requests: 1,
        inputTokens: 14,
        outputTokens: 5,
        totalTokens: 19,
        budgetTokens: null,
        budgetRemaining: null,
      });
    },
  );

  testEachJournal("charges nothing when the provider's figure is an explicit 0", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    expect(await bench.ledger.settle(hold, settlement(hold, 0))).toEqual({ charged: 0, overrun: 0 });
    expect(await entriesOf(bench.operator, "charge")).toMatchObject([{ amount: 0, basis: "measured" }]);
  });

  testEachJournal("of a cancelled stream writes an entry and no usage record", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    await bench.ledger.settle(
      hold,
      settlement(hold, 7, { outcome: "cancelled", basis: "estimated", record: null }),
    );
    expect(await entriesOf(bench.operator, "charge")).toMatchObject([
      { amount: -7, outcome: "cancelled", basis: "estimated", exchangeId: hold.id },
    ]);
    expect(await usageRecords(bench.operator)).toEqual([]);
    expect(bench.ledger.summary(key.id)).toMatchObject({ used: 7, requests: 0, lastCostNano: 0 });
  });

  testEachJournal("above the hold takes what is free, and says the rest as overrun", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    const other = holdFor(bench.ledger, key, 30);
    expect(await bench.ledger.settle(hold, settlement(hold, 90))).toEqual({ charged: 70, overrun: 20 });
    expect(await entriesOf(bench.operator, "overrun")).toMatchObject([{ amount: 20, exchangeId: hold.id }]);
    expect(await bench.ledger.settle(other, settlement(other, 30))).toEqual({ charged: 30, overrun: 0 });
    expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 0, available: 0 });
  });

  testEachJournal(
    "makes the usage record say what was charged, and how, not what it cost",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 50);
      const hold = holdFor(bench.ledger, key, 50);
      await bench.ledger.settle(hold, settlement(hold, 80, { basis: "estimated" }));
      const [record] = await usageRecords(bench.operator);
      expect(record).toMatchObject({ costNano: 50, basis: "estimated" });
    },
  );

  testEachJournal("tells the journal whether other charges may follow soon", async (database) => {
    await using bench = await openBench(database);
    const commit = spyOn(bench.store, "commit");
    const key = await bench.addKey({}, 100);
    const [first, last] = [holdFor(bench.ledger, key, 10), holdFor(bench.ledger, key, 10)];
    for (const hold of [first, last]) await bench.ledger.settle(hold, settlement(hold, 10));
    expect(commit.mock.calls.map(([, othersFollow]) => othersFollow)).toEqual([true, false]);
  });

  testEachJournal(
    "goes only as far as the balance that an operator has lowered meanwhile",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 80);
      const lower = { keyId: key.id, amountNano: -70, reference: null, note: null, atMs: 0 };
      await bench.operator.recordAdjustment(lower);
      await bench.watcher.refresh();
      expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 30, held: 80, available: 0 });
      expect(await bench.ledger.settle(hold, settlement(hold, 50))).toEqual({ charged: 30, overrun: 20 });
      expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 0 });
    },
  );

  testEachJournal(
    "never takes the balance below 0, even when it is lowered while the charge is on its way",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 100);
      const hold = holdFor(bench.ledger, key, 80);
      const settling = bench.ledger.settle(hold, settlement(hold, 80));
      const lower = { keyId: key.id, amountNano: -70, reference: null, note: null, atMs: 0 };
      await bench.operator.recordAdjustment(lower);
      expect(await settling).toEqual({ charged: 80, overrun: 0 });
      expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 0, used: 80, purchased: 80 });
      expect(await entriesOf(bench.operator, "adjustment")).toMatchObject([{ amount: -70 }, { amount: 50 }]);
      expect(await entriesOf(bench.operator, "overrun")).toMatchObject([{ amount: 50 }]);
      await bench.watcher.refresh();
      expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 0, available: 0, used: 80 });
      expect((await audit(bench.operator)).differences).toEqual([]);
    },
  );
});

testEachJournal(
  "a cost that is no amount is refused and leaves the hold open, to be released",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    for (const cost of [Number.NaN, -1, 0.5]) {
      await expect(bench.ledger.settle(hold, settlement(hold, cost))).rejects.toThrow("whole number");
    }
    expect(() => bench.ledger.progress(hold, costing(1.5))).toThrow("whole number");
    expect(bench.ledger.release(hold)).toBe(true);
    expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 100, held: 0 });
  },
);

describe("a hold ends once", () => {
  testEachJournal("when it is settled twice, at the same time or later", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const hold = holdFor(bench.ledger, key, 60);
    const both = await Promise.all([
      bench.ledger.settle(hold, settlement(hold, 10)),
      bench.ledger.settle(hold, settlement(hold, 20)),
    ]);
    expect(both).toEqual([{ charged: 10, overrun: 0 }, null]);
    expect(await bench.ledger.settle(hold, settlement(hold, 30))).toBeNull();
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ posted: 90 });
  });

  testEachJournal("when a settle races a cancel, whoever comes first wins", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const settledFirst = holdFor(bench.ledger, key, 10);
    const settling = bench.ledger.settle(settledFirst, settlement(settledFirst, 10));
    expect(bench.ledger.release(settledFirst)).toBe(false);
    await settling;
    const releasedFirst = holdFor(bench.ledger, key, 10);
    expect(bench.ledger.release(releasedFirst)).toBe(true);
    expect(await bench.ledger.settle(releasedFirst, settlement(releasedFirst, 10))).toBeNull();
    expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 90, held: 0 });
    expect(bench.ledger.openHolds).toBe(0);
  });
});

describe("what a day has spent", () => {
  testEachJournal("is told for the UTC day, and is 0 on the next", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 100);
    const first = holdFor(bench.ledger, key, 10);
    await bench.ledger.settle(first, settlement(first, 10));
    const second = holdFor(bench.ledger, key, 10);
    await bench.ledger.settle(second, settlement(second, 5));
    expect(bench.ledger.summary(key.id).todaySpend).toBe(15);
    bench.clock.advance(86_400_000);
    expect(bench.ledger.summary(key.id)).toMatchObject({ todaySpend: 0, lifetimeSpend: 15 });
    const third = holdFor(bench.ledger, key, 10);
    await bench.ledger.settle(third, settlement(third, 3));
    bench.clock.jumpWall(-86_400_000);
    const past = holdFor(bench.ledger, key, 10);
    await bench.ledger.settle(past, settlement(past, 2));
    expect(bench.ledger.summary(key.id)).toMatchObject({ todaySpend: 3, lifetimeSpend: 20 });
    expect((await audit(bench.operator)).differences).toEqual([]);
  });
});
