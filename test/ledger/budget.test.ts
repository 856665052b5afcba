import { describe, expect } from "bun:test";
import type { KeyRecord } from "../../src/store/store.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { usageRecords } from "../support/usage.ts";
import { errorOf } from "./error-of.ts";
import { type Bench, holdFor, openBench, settlement, startProcess } from "./fixtures.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** Uses tokens up in one request. */
async function spend(bench: Bench, key: KeyRecord, tokens: number): Promise<void> {
  const hold = holdFor(bench.ledger, key, tokens);
  await bench.ledger.settle(hold, settlement(hold, tokens));
}

describe("a token-budget key", () => {
  testEachJournal("counts tokens against its budget, and no money", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
    await spend(bench, key, 30);
    holdFor(bench.ledger, key, 20);
    expect(bench.ledger.summary(key.id)).toMatchObject({
      mode: "token_budget",
      posted: 0,
      used: 0,
      lifetimeSpend: 0,
      todaySpend: 0,
      lastCostNano: 0,
      budgetTokens: 100,
      budgetUsed: 30,
      budgetHeld: 20,
      budgetRemaining: 50,
      requests: 1,
    });
    const [record] = await usageRecords(bench.operator);
    expect(record?.costNano).toBe(0);
  });

  testEachJournal(
    "is refused with 429 limit_reached when all is used, until the next period",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
      await spend(bench, key, 100);
      const error = errorOf(() => holdFor(bench.ledger, key, 1));
      expect(error.code).toBe("limit_reached");
      expect(error.retryAfterSeconds).toBe(12 * 3600);
      bench.clock.advance(12 * hourMs);
      expect(holdFor(bench.ledger, key, 100).state).toBe("open");
    },
  );

  testEachJournal("is refused with 402 when something is left, but not enough", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
    await spend(bench, key, 60);
    const error = errorOf(() => holdFor(bench.ledger, key, 41));
    expect(error.code).toBe("insufficient_credit");
    expect(error.message).toContain("41 tokens");
    expect(error.message).toContain("40 of this period's budget");
  });

  testEachJournal(
    "is refused with 429 balance_temporarily_reserved when others hold it",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
      holdFor(bench.ledger, key, 60);
      const error = errorOf(() => holdFor(bench.ledger, key, 41));
      expect(error.code).toBe("balance_temporarily_reserved");
      expect(error.message).toContain("token budget");
    },
  );

  testEachJournal(
    "without a period is refused with 402 when it is used up, because waiting would not help",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "none" });
      await spend(bench, key, 100);
      bench.clock.advance(400 * dayMs);
      const error = errorOf(() => holdFor(bench.ledger, key, 1));
      expect(error.code).toBe("insufficient_credit");
      expect(error.message).toContain("does not reset");
      expect(bench.ledger.summary(key.id).periodEndsMs).toBeNull();
    },
  );

  testEachJournal("without a budget is unlimited", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ mode: "token_budget", budgetTokens: null, period: "month" });
    await spend(bench, key, 5_000_000);
    expect(bench.ledger.summary(key.id)).toMatchObject({
      budgetTokens: null,
      budgetRemaining: null,
      budgetUsed: 5_000_000,
    });
  });

  testEachJournal("is charged in the period in which the request was admitted", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
    const late = holdFor(bench.ledger, key, 80);
    bench.clock.advance(dayMs);
    const today = holdFor(bench.ledger, key, 100);
    expect(await bench.ledger.settle(late, settlement(late, 90))).toEqual({ charged: 80, overrun: 10 });
    expect(bench.ledger.summary(key.id)).toMatchObject({ budgetUsed: 0, budgetHeld: 100 });
    await bench.ledger.settle(today, settlement(today, 40));
    expect(await bench.operator.readTotals(key.id)).toMatchObject({ periodUsed: 40, used: 120 });
  });

  testEachJournal(
    "has no second budget when the clock is set back, even across a restart",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
      bench.clock.jumpWall(dayMs);
      await spend(bench, key, 100);
      bench.clock.jumpWall(-dayMs);
      const error = errorOf(() => holdFor(bench.ledger, key, 1));
      expect(error.code).toBe("limit_reached");
      expect(error.retryAfterSeconds).toBe((12 + 24) * 3600);
      expect(error.message).toContain(
        "used up its token budget (100 used). It resets at 2026-11-17T00:00:00Z.",
      );
      expect(bench.ledger.summary(key.id).periodEndsMs).toBe(Date.UTC(2026, 10, 17));
      const next = await startProcess(database, bench.clock);
      expect(errorOf(() => holdFor(next.ledger, key, 1)).code).toBe("limit_reached");
      await next.store.close();
    },
  );

  testEachJournal(
    "takes another budget at once, and keeps what is open within its hold",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
      const hold = holdFor(bench.ledger, key, 80);
      await bench.operator.updateKey(key.id, { budgetTokens: 50 });
      await bench.watcher.refresh();
      expect(bench.ledger.summary(key.id)).toMatchObject({ budgetTokens: 50, budgetRemaining: 0 });
      expect(await bench.ledger.settle(hold, settlement(hold, 90))).toEqual({ charged: 80, overrun: 10 });
      expect(errorOf(() => holdFor(bench.ledger, key, 1)).code).toBe("limit_reached");
    },
  );
});
