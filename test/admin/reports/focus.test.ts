import { expect, test } from "bun:test";
import { exportLedger } from "../../../src/admin/reports/export-ledger.ts";
import { modelDetails } from "../../../src/admin/reports/focus/model-details.ts";
import { nanoFromExact } from "../../../src/base/money/money.ts";
import { makeRates } from "../../../src/base/money/rates.ts";
import { type Bench, openBench } from "../../ledger/fixtures.ts";
import { testEachJournal } from "../../store/each-journal.ts";
import { settleItem } from "../../store/fixtures.ts";
import { focusRecords, withEveryKind } from "./focus-ledger.ts";

async function focusOf({ operator: store, clock }: Bench, microUsdPerCredit = 1_000_000) {
  const chunks: string[] = [];
  for await (const chunk of exportLedger({ store, clock }, { format: "focus", microUsdPerCredit }))
    chunks.push(chunk);
  return { chunks, rows: focusRecords(chunks.join("")) };
}

function sum(amounts: readonly (string | undefined)[]): bigint {
  let total = 0n;
  for (const amount of amounts) {
    const nano = nanoFromExact(amount ?? "");
    if (nano === null) throw new Error(`${amount} is not exact to the nano`);
    total += nano;
  }
  return total;
}

testEachJournal("FOCUS: the sum of BilledCost is the ledger's, to the nano", async (database) => {
  await using bench = await openBench(database);
  const key = await withEveryKind(bench);
  const { rows } = await focusOf(bench);
  const totals = await bench.operator.readTotals(key.id);
  expect(sum(rows.map(({ BilledCost }) => BilledCost))).toBe(-BigInt(totals?.posted ?? Number.NaN));
  expect(rows.map(({ x_Credits }) => x_Credits)).toEqual(rows.map(({ BilledCost }) => BilledCost));
  const kinds = Map.groupBy(rows, ({ x_EntryKind }) => x_EntryKind);
  expect(
    [...kinds].map(([kind, each]) => [kind, [...new Set(each.map((row) => row["ChargeCategory"]))]]),
  ).toEqual([
    ["topup", ["Credit"]],
    ["adjustment", ["Adjustment"]],
    ["charge", ["Usage"]],
    ["overrun", ["Adjustment"]],
  ]);
});

testEachJournal(
  "FOCUS: a charge has one row for each price, with its quantity and its rate",
  async (database) => {
    await using bench = await openBench(database);
    const key = await bench.addKey({ label: "chat" }, 5_000_000_000);
    const picoUsd = {
      input: 5_000_000,
      cached_input: 500_000,
      output: 30_000_000,
      web_search: 10_000_000_000,
    };
    const rates = makeRates({ microUsdPerCredit: 1_000_000, picoUsd, tiers: ["flex"], inputAbove: 200_000 });
    const quantities = { input: 120, cached_input: 3_201, output: 40, web_search: 1 };
    const labels = JSON.stringify({ owner: "ada@example.com", user: "u-7", "tag:project": "atlas" });
    await bench.store.commit([settleItem(key.id, 13_400_501, { rates, quantities, labels })]);
    const rows = (await focusOf(bench)).rows.filter(({ ChargeCategory }) => ChargeCategory === "Usage");
    const shown = rows.map((row) => [
      ...[
        row["SkuMeter"],
        row["ConsumedQuantity"],
        row["ConsumedUnit"],
        row["ListUnitPrice"],
        row["ListCost"],
      ],
      row["BilledCost"],
    ]);
    expect(shown).toEqual([
      ["input", "120.0", "Tokens", "0.000005", "0.0006", "0.0006"],
      ["cached_input", "3201.0", "Tokens", "0.0000005", "0.0016005", "0.0016005"],
      ["output", "40.0", "Tokens", "0.00003", "0.0012", "0.0012"],
      ["web_search", "1.0", "Calls", "0.01", "0.01", "0.010000001"],
    ]);
    expect(rows[0]).toMatchObject({
      BillingAccountId: key.accountId,
      BillingCurrency: "USD",
      SubAccountId: key.id,
      SubAccountName: "chat",
      Tags: '{"project":"atlas"}',
      x_Owner: "ada@example.com",
      x_User: "u-7",
    });
    expect(rows[0]?.["SkuPriceId"]).toEndWith("/input@flex@input-above-200000");
  },
);

testEachJournal(
  "FOCUS: amounts are USD at the value of a credit, and `x_Credits` is the ledger's",
  async (database) => {
    await using bench = await openBench(database);
    await bench.addKey({}, 1_000_000_001);
    const { rows } = await focusOf(bench, 10_001);
    expect(rows).toMatchObject([{ BilledCost: "-0.010001000010001", x_Credits: "-1.000000001" }]);
  },
);

testEachJournal("FOCUS: tokens of a budget have a list price and bill nothing", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({ mode: "token_budget" });
  const rates = makeRates({
    ...{ microUsdPerCredit: 1_000_000, tiers: [], inputAbove: null },
    picoUsd: { input: 5_000_000 },
  });
  const charge = {
    rates,
    quantities: { input: 120 },
    periodStartMs: Date.UTC(2026, 9),
    listCostNano: 600_000,
  };
  await bench.store.commit([settleItem(key.id, 120, charge)]);
  const { rows } = await focusOf(bench);
  expect(rows).toMatchObject([{ BilledCost: "0.0", EffectiveCost: "0.0", ListCost: "0.0006" }]);
});

testEachJournal("FOCUS: chunks do not grow with the history", async (database) => {
  await using bench = await openBench(database);
  const key = await bench.addKey({}, 10_000);
  await bench.store.commit(Array.from({ length: 2_400 }, () => settleItem(key.id, 1)));
  const { chunks, rows } = await focusOf(bench);
  expect(chunks).toHaveLength(1 + 3);
  expect(rows).toHaveLength(2_401);
});

/** The columns that FOCUS 1.2 marks as mandatory. */
const mandatory = [
  ...["BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd"],
  ...["BillingPeriodStart", "ChargeCategory", "ChargeClass", "ChargeDescription", "ChargePeriodEnd"],
  ...[
    "ChargePeriodStart",
    "ContractedCost",
    "EffectiveCost",
    "InvoiceIssuerName",
    "ListCost",
    "PricingQuantity",
  ],
  ...["PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName"],
];
const nullable = ["BillingAccountName", "ChargeClass", "ChargeDescription", "PricingQuantity", "PricingUnit"];

testEachJournal("FOCUS: every row has what the specification requires", async (database) => {
  await using bench = await openBench(database);
  await withEveryKind(bench);
  const { rows } = await focusOf(bench);
  for (const row of rows) {
    expect(Object.keys(row)).toEqual(expect.arrayContaining(mandatory));
    const required = [...mandatory, "BillingAccountType", "ChargeFrequency", "ServiceSubcategory"];
    expect(required.filter((name) => row[name] === "" && !nullable.includes(name))).toEqual([]);
    const priced = [
      "SkuId",
      "SkuPriceId",
      "ListUnitPrice",
      "ContractedUnitPrice",
      "ConsumedQuantity",
      "PricingUnit",
    ];
    const isUsage = row["ChargeCategory"] === "Usage";
    expect(priced.filter((name) => (row[name] !== "") !== isUsage)).toEqual([]);
    expect(row["ChargePeriodStart"]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  }
});

test.each([
  ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "Anthropic", "claude", "4.5"],
  ["gpt-5.6-2026-01-01", "OpenAI", "gpt", "5.6"],
  ["o3-mini", "OpenAI", "o", "3"],
  ["gemini-3.6-flash", "Google", "gemini", "3.6"],
  ["meta-llama/llama-3.3-70b-instruct", "Meta", "llama", "3.3"],
  ["house-model", undefined, undefined, undefined],
])("FOCUS: %s has the developer %p, the family %p and the version %p", (id, developer, family, version) => {
  const { ModelDeveloper, ModelFamily, ModelVersion, ModelId } = modelDetails(id);
  expect([ModelId, ModelDeveloper, ModelFamily, ModelVersion]).toEqual([id, developer, family, version]);
});
