import { expect } from "bun:test";
import { type ExportFormat, exportEntries } from "../../src/ledger/export.ts";
import type { JournalItem } from "../../src/store/store.ts";
import { testEachJournal } from "../store/each-journal.ts";
import { settleItem } from "../store/fixtures.ts";
import { type Bench, openBench } from "./fixtures.ts";

async function exported(bench: Bench, format: ExportFormat): Promise<readonly string[]> {
  const chunks: string[] = [];
  for await (const chunk of exportEntries(bench.operator, format)) chunks.push(chunk);
  return chunks;
}

testEachJournal("CSV has a heading, quotes what needs it, and defuses formulas", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 100);
  const topUp = { keyId: key.id, amountNano: 5, reference: "=1+1", note: 'paid, "late"\nby mail', atMs: 7 };
  await bench.operator.recordTopUp(topUp);
  const text = (await exported(bench, "csv")).join("");
  expect(text).toStartWith(
    "id,keyId,kind,amount,atMs,exchangeId,basis,outcome,periodStartMs,reference,note,accountId\n" +
      `1,${key.id},topup,100,0,,,,0,,opening credit,${key.accountId}\n`,
  );
  expect(text).toEndWith(`2,${key.id},topup,5,7,,,,0,'=1+1,"paid, ""late""\nby mail",${key.accountId}\n`);
});

testEachJournal(
  "JSON lines are the entries themselves, in chunks that do not grow with the history",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10_000);
    const items = Array.from({ length: 2_400 }, (): JournalItem => settleItem(key.id, 1));
    await bench.store.commit(items);
    const chunks = await exported(bench, "jsonl");
    expect(chunks).toHaveLength(3);
    const lines = chunks.join("").trimEnd().split("\n");
    expect(lines).toHaveLength(2_401);
    expect(JSON.parse(lines[2_400] ?? "")).toMatchObject({
      id: 2_401,
      keyId: key.id,
      kind: "charge",
      amount: -1,
    });
  },
);

testEachJournal("an empty ledger exports an empty file", async (database) => {
  await using bench = await openBench(database);
  expect(await exported(bench, "jsonl")).toEqual([]);
});
