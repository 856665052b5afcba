import { expect } from "bun:test";
import { describeLosses } from "../../src/ledger/losses.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { settleItem } from "../store/fixtures.ts";
import { openBench } from "./fixtures.ts";

testEachJournal(
  "what could not be written is told charge by charge, in the unit of its key, and where the ledger was saved",
  async (database) => {
    await using bench = await openBench(database);
    const credit = await bench.addKey({}, 100);
    const tokens = await bench.addKey({ mode: "token_budget", budgetTokens: 100, period: "day" });
    const [paid, counted] = [settleItem(credit.id, 1_500).charge, settleItem(tokens.id, 42).charge];
    expect(describeLosses({ unwritten: [], files: null }, bench.ledger)).toEqual([]);
    expect(describeLosses({ unwritten: [], files: { rescuedTo: null } }, bench.ledger)).toEqual([]);
    const gone = { unwritten: [paid, counted], files: { rescuedTo: "/data/copy.db" } };
    expect(describeLosses(gone, bench.ledger)).toEqual([
      `Charge NOT written: request ${paid.exchangeId}, key ${credit.id}, 0.000001500 credits.`,
      `Charge NOT written: request ${counted.exchangeId}, key ${tokens.id}, 42 tokens.`,
      expect.stringContaining("sluice restore /data/copy.db"),
    ]);
  },
);
