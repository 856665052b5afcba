import { expect } from "bun:test";
import { exportLedger, type LedgerExport } from "../../../src/admin/reports/export-ledger.ts";
import { makeRates } from "../../../src/base/money/rates.ts";
import type { JournalItem } from "../../../src/store/store.ts";
import { type Bench, openBench } from "../../ledger/fixtures.ts";
import { testEachJournal } from "../../store/each-journal.ts";
import { settleItem } from "../../store/fixtures.ts";

async function exported(
  bench: Bench,
  asked: Omit<LedgerExport, "microUsdPerCredit">,
): Promise<readonly string[]> {
  const chunks: string[] = [];
  const context = { store: bench.operator, clock: bench.clock };
  for await (const chunk of exportLedger(context, { ...asked, microUsdPerCredit: 1_000_000 }))
    chunks.push(chunk);
  return chunks;
}

async function lines(
  bench: Bench,
  asked: Omit<LedgerExport, "format" | "microUsdPerCredit"> = {},
): Promise<readonly Record<string, unknown>[]> {
  const text = (await exported(bench, { format: "jsonl", ...asked })).join("");
  return text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
}

const heading =
  "id,at,key_id,key_prefix,key_label,account_id,kind,amount,unit,credits,request_id,model,requested_model,provider,basis," +
  "outcome,period_start,list_cost,rates,quantities,units,calculation,reference,note\n";

testEachJournal("CSV has a heading, quotes what needs it, and defuses formulas", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({ label: "=Ada, Ltd." }, 5_000_000_000);
  const topUp = { keyId: key.id, amountNano: 5, reference: "=1+1", note: 'paid, "late"\nby mail', atMs: 7 };
  await bench.operator.recordTopUp(topUp);
  const text = (await exported(bench, { format: "csv" })).join("");
  const who = `${key.id},${key.prefix},"'=Ada, Ltd.",${key.accountId},topup`;
  expect(text).toStartWith(
    `${heading}1,1970-01-01T00:00:00.000Z,${who},5000000000,nano_credits,5,,,,,,,,,,,,,,opening credit\n`,
  );
  expect(text).toEndWith(
    `2,1970-01-01T00:00:00.007Z,${who},5,nano_credits,0.000000005,,,,,,,,,,,,,'=1+1,"paid, ""late"" by mail"\n`,
  );
});

testEachJournal("a charge has the model, the name asked for, its rates and its sum", async (database) => {
  await using bench = await openBench(database);
  const rates = makeRates({
    microUsdPerCredit: 1_000_000,
    picoUsd: { input: 5_000_000, output: 30_000_000 },
    tiers: [],
    inputAbove: null,
  });
  const charge = { rates, quantities: { input: 120, output: 40 }, requestedModel: "gpt-latest" };
  const [paying, budgeted] = [
    await bench.addKey({ label: "Ada" }, 1e9),
    await bench.addKey({ mode: "token_budget" }),
  ];
  const inBudget = { ...charge, periodStartMs: Date.UTC(2026, 9), listCostNano: 1_800_000 };
  await bench.store.commit([
    settleItem(paying.id, 1_800_000, charge),
    settleItem(budgeted.id, 160, inBudget),
  ]);
  const [, paid, counted] = await lines(bench);
  const shared = {
    model: "house-model",
    requested_model: "gpt-latest",
    rates: { input: 5, output: 30, usd_per_credit: 1 },
    quantities: { input: 120, output: 40 },
  };
  expect(paid).toMatchObject({
    ...shared,
    ...{ key_label: "Ada", amount: -1_800_000, unit: "nano_credits", credits: -0.0018, list_cost: null },
    calculation: "120 × 5.00/M + 40 × 30.00/M = 0.0018",
  });
  expect(counted).toMatchObject({
    ...shared,
    ...{ key_label: null, amount: -160, unit: "tokens", credits: null, list_cost: 0.0018 },
    period_start: "2026-10-01T00:00:00.000Z",
    calculation: "120 + 40 = 160 tokens; at the list price 120 × 5.00/M + 40 × 30.00/M = 0.0018",
  });
});

testEachJournal("a range has its beginning, and not its end", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 1_000);
  await bench.store.commit([100, 200, 300].map((atMs) => settleItem(key.id, atMs, { atMs })));
  const amounts = async (asked: Omit<LedgerExport, "format" | "microUsdPerCredit">) =>
    (await lines(bench, asked)).map(({ amount }) => amount);
  expect(await amounts({ sinceMs: 100, untilMs: 300 })).toEqual([-100, -200]);
  expect(await amounts({ sinceMs: 200, key: key.id })).toEqual([-200, -300]);
  expect(await amounts({ untilMs: 100 })).toEqual([1_000]);
});

testEachJournal(
  "JSON lines are the entries themselves, in chunks that do not grow with the history",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({}, 10_000);
    const items = Array.from({ length: 2_400 }, (): JournalItem => settleItem(key.id, 1));
    await bench.store.commit(items);
    const chunks = await exported(bench, { format: "jsonl" });
    expect(chunks).toHaveLength(3);
    const written = chunks.join("").trimEnd().split("\n");
    expect(written).toHaveLength(2_401);
    expect(JSON.parse(written[2_400] ?? "")).toMatchObject({
      id: 2_401,
      key_id: key.id,
      kind: "charge",
      amount: -1,
    });
  },
);

testEachJournal("an empty ledger exports an empty file", async (database) => {
  await using bench = await openBench(database);
  expect(await exported(bench, { format: "jsonl" })).toEqual([]);
});

testEachJournal("a charge for something else than tokens has its units", async (database) => {
  await using bench = await openBench(database);
  const rates = makeRates({
    microUsdPerCredit: 1_000_000,
    picoUsd: { images: 40_000_000_000 },
    tiers: [],
    inputAbove: null,
  });
  const key = await bench.addKey({ label: "Ada" }, 1e9);
  await bench.store.commit([settleItem(key.id, 80_000_000, { rates, quantities: { images: 2 } })]);
  const [topUp, charge] = await lines(bench);
  expect(topUp).toMatchObject({ units: null });
  expect(charge).toMatchObject({ units: { kind: "images", amount: 2 }, quantities: { images: 2 } });
});
