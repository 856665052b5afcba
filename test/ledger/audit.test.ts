import { expect, test } from "bun:test";
import { audit } from "../../src/ledger/audit.ts";
import type { Store } from "../../src/store/store.ts";
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
    expect(await audit(bench.operator)).toEqual({ accounts: 2, entries: 6, differences: [], anchor: null });
  },
);

test("an audit reports totals and sums that differ, and figures above 2^53 by their digits", async () => {
  const at = { keyId: "key_1", where: "account acc_1" };
  const store = {
    recomputeTotals: async () => [
      {
        ...at,
        kept: { posted: 2n ** 60n, used: 5n, purchased: 7n },
        recomputed: { posted: 2n ** 60n - 1n, used: 6n, purchased: 7n },
      },
    ],
    load: async () => ({ accounts: [] }),
    listPastPeriods: async () => [],
    listEntries: async () => [],
    chain: { heads: async () => [], anchors: async () => [], isMixed: async () => false },
    auditSums: async () => [{ ...at, where: "day 1", field: "requests", kept: 1, recomputed: 2 }],
  } as unknown as Store;
  expect(await audit(store)).toEqual({
    accounts: 1,
    entries: 0,
    anchor: null,
    differences: [
      { ...at, field: "posted", kept: "1152921504606846976", recomputed: "1152921504606846975" },
      { ...at, field: "used", kept: 5, recomputed: 6 },
      { ...at, where: "day 1", field: "requests", kept: 1, recomputed: 2 },
    ],
  });
});
