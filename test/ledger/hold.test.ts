import { describe, expect } from "bun:test";
import type { GatewayError } from "../../src/base/errors.ts";
import { nanoPerCredit } from "../../src/base/money/money.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { errorOf } from "./error-of.ts";
import { holdFor, openBench, settlement } from "./fixtures.ts";

describe("a credit key", () => {
  testEachJournal("holds what is available and reports it", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10);
    holdFor(bench.ledger, key, 4);
    holdFor(bench.ledger, key, 6);
    expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 10, held: 10, available: 0 });
    expect(bench.ledger.openHolds).toBe(2);
  });

  testEachJournal(
    "is refused with 402 when the posted balance is below the hold, saying what was needed and is there",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({}, 2 * nanoPerCredit);
      const error = errorOf(() => holdFor(bench.ledger, key, 3 * nanoPerCredit));
      expect(error.code).toBe("insufficient_credit");
      expect(error.message).toContain("3 credits");
      expect(error.message).toContain("only 2 are left");
      expect(bench.ledger.summary(key.id).held).toBe(0);
    },
  );

  testEachJournal(
    "has no period: what it holds stays held when a budget would begin anew",
    async (database) => {
      await using bench = await openBench(database);
      const key = await bench.addKey({ period: "day" }, 10);
      const first = holdFor(bench.ledger, key, 6);
      bench.clock.advance(24 * 3_600_000);
      expect(errorOf(() => holdFor(bench.ledger, key, 5)).code).toBe("balance_temporarily_reserved");
      await bench.ledger.settle(first, settlement(first, 6));
      expect(bench.ledger.summary(key.id)).toMatchObject({ posted: 4, held: 0, available: 4 });
    },
  );

  testEachJournal("is refused with 429 when the balance is enough but others hold it", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10);
    const first = holdFor(bench.ledger, key, 6);
    const error = errorOf(() => holdFor(bench.ledger, key, 5));
    expect(error.code).toBe("balance_temporarily_reserved");
    expect(error.retryAfterSeconds).toBe(1);
    bench.ledger.release(first);
    expect(holdFor(bench.ledger, key, 5).state).toBe("open");
  });

  testEachJournal("may hold nothing, as a free model asks for", async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({});
    expect(holdFor(bench.ledger, key, 0).amount).toBe(0);
  });
});

testEachJournal("a key that the ledger has never heard of is a bug, not a error", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({});
  expect(() => holdFor(bench.ledger, { ...key, id: "key_unknown" }, 1)).toThrow("unknown key");
  expect(() => holdFor(bench.ledger, key, 0.5)).toThrow("whole number");
});

testEachJournal(
  "1,000 racers on a balance for 10 admit exactly 10, and the sum charged is exact",
  async (database) => {
    const racers = process.env["SLUICE_SOAK"] === "1" ? 10_000 : 1_000;
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 1_000);
    const outcomes = await Promise.all(
      Array.from({ length: racers }, async () => {
        await Promise.resolve();
        try {
          return holdFor(bench.ledger, key, 100);
        } catch (error) {
          return (error as GatewayError).code;
        }
      }),
    );
    const admitted = outcomes.filter((outcome) => typeof outcome !== "string");
    expect(admitted).toHaveLength(10);
    expect(outcomes.filter((outcome) => outcome === "balance_temporarily_reserved")).toHaveLength(
      racers - 10,
    );
    await Promise.all(admitted.map((hold) => bench.ledger.settle(hold, settlement(hold, 73))));
    expect(await bench.operator.readTotals(key.id)).toMatchObject({
      posted: 1_000 - 730,
      used: 730,
      requests: 10,
    });
  },
);
