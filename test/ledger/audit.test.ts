import { expect } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { holdFor, openBench, settlement } from "./fixtures.ts";

testEachJournal(
  "an audit of an honest ledger finds nothing, whatever kinds of entries it has",
  async (database) => {
    await using bench = await openBench(database);
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
    expect(await audit(bench.operator)).toEqual({ accounts: 2, entries: 6, differences: [] });
  },
);
