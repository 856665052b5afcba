import { describe, expect, test } from "bun:test";
import { auditCharges } from "../../src/ledger/audit-charges.ts";
import type { AuditedEntry, Store } from "../../src/store/store.ts";
import { nanoRates } from "../support/rates.ts";

const atMs = Date.UTC(2026, 10, 16, 12);
const dayMs = 86_400_000;
const accounts = [
  { id: "acc_credit", mode: "credit", period: "none" },
  { id: "acc_budget", mode: "token_budget", period: "month" },
];

/** A charge of a credit account, paid in full unless told otherwise. */
function charge(cost: number, changes: Partial<AuditedEntry> = {}): AuditedEntry {
  return {
    ...{ id: 0, accountId: "acc_credit", keyId: "key_1", kind: "charge", amount: -cost, atMs },
    ...{ exchangeId: "req_1", basis: "measured", outcome: "completed", periodStartMs: 0 },
    ...{ reference: null, note: null, model: "m", requestedModel: null, provider: "p", listCostNano: null },
    ...{ quantities: { output: cost }, rates: nanoRates.text, ratesId: nanoRates.id },
    ...{ countedAtMs: null, costNano: cost, startedAtMs: atMs, totalMs: 0 },
    ...changes,
  };
}

function overrun(amount: number, exchangeId = "req_1"): AuditedEntry {
  const none = { quantities: null, rates: null, ratesId: null, costNano: null, startedAtMs: null };
  return charge(0, { kind: "overrun", amount, exchangeId, basis: null, outcome: null, ...none });
}

/** What a takeover charges: without a usage record, and so without the record's figures. */
function interrupted(cost: number, changes: Partial<AuditedEntry> = {}): AuditedEntry {
  return charge(cost, { outcome: "interrupted", costNano: null, startedAtMs: null, ...changes });
}

/** Fields in which entries, read in two chunks, are not what they follow from. */
async function faultsOf(entries: readonly AuditedEntry[], isDeep = false): Promise<string[]> {
  const numbered = entries.map((entry, index) => ({ ...entry, id: index + 1 }));
  const store = {
    listPastPeriods: async () => [],
    load: async () => ({ accounts }),
    listEntries: async ({ afterId }: { afterId: number }) =>
      numbered.filter(({ id }) => id > afterId).slice(0, 2),
  } as unknown as Store;
  const { entries: count, faults } = await auditCharges(store, { deep: isDeep });
  expect(count).toBe(entries.length);
  return faults.map(({ where, field, kept, recomputed }) => `${where}: ${field} ${kept}, not ${recomputed}`);
}

describe("what was paid and what was not are the cost", () => {
  test.each([
    ["paid", [charge(10)], []],
    ["in part unpaid", [charge(10, { amount: -7, costNano: 7 }), overrun(3)], []],
    ["paid twice", [charge(10, { amount: -20, costNano: 20 })], ["entry 1: amount 20, not 10"]],
    ["not all there", [charge(10, { amount: -7, costNano: 7 })], ["entry 1: amount 7, not 10"]],
    [
      "another's",
      [charge(10, { amount: -7, costNano: 7 }), overrun(3, "req_2")],
      ["entry 1: amount 7, not 10"],
    ],
    ["in part owed above a cap", [charge(10, { amount: -7 }), overrun(-3)], []],
    [
      "owed above a cap, and in part unpaid",
      [charge(10, { amount: -7, costNano: 9 }), overrun(-2), overrun(1)],
      [],
    ],
    [
      "owed less than the record says",
      [charge(10, { amount: -7 }), overrun(-2), overrun(1)],
      ["entry 1: cost_nano 10, not 9"],
    ],
    [
      "owed more than it cost",
      [charge(10, { amount: -7, costNano: 11 }), overrun(-4)],
      ["entry 1: amount 11, not 10"],
    ],
    [
      "unpaid by more than it cost",
      [charge(10, { amount: -7, costNano: 7 }), overrun(5)],
      ["entry 1: amount 12, not 10"],
    ],
    ["an overrun without a charge", [overrun(3)], []],
    ["older than rates", [charge(10, { amount: -7, costNano: 7, ratesId: null, rates: null })], []],
  ])("%s", async (_, entries, faults) => expect(await faultsOf(entries)).toEqual(faults));
});

test("a budget is charged its tokens, input that costs nothing too, and a credit account what they cost", async () => {
  const quantities = { input: 5, output: 10 };
  const budget = { accountId: "acc_budget", quantities, costNano: 0, listCostNano: 10 };
  expect(await faultsOf([charge(15, budget), charge(10, { quantities, exchangeId: "req_2" })])).toEqual([]);
  expect(await faultsOf([charge(10, budget)])).toEqual(["entry 1: amount 10, not 15"]);
  expect(await faultsOf([charge(15, { ...budget, listCostNano: 15 })])).toEqual([
    "entry 1: list_cost_nano 15, not 10",
  ]);
});

test("rates that are missing, or not those of their id, are a fault", async () => {
  const { id } = nanoRates;
  expect(await faultsOf([charge(10, { ratesId: 1 })])).toEqual([`entry 1: rates 1, not ${id}`]);
  expect(await faultsOf([charge(10, { rates: null })])).toEqual([`entry 1: rates ${id}, not none`]);
});

describe("a late charge adds to what a takeover has charged", () => {
  test.each([
    ["and is the rest", [interrupted(10), charge(25, { amount: -15 })], []],
    ["and may be nothing", [interrupted(25), charge(25, { amount: 0 })], []],
    [
      "but not all of it again",
      [interrupted(10), charge(25, { costNano: 35 })],
      ["entry 2: amount 35, not 25"],
    ],
    [
      "of its own exchange",
      [interrupted(10, { exchangeId: "req_2" }), charge(25, { amount: -15, costNano: 15 })],
      ["entry 2: amount 15, not 25"],
    ],
    [
      "once",
      [interrupted(10), charge(25, { amount: -15 }), charge(25, { amount: -15, costNano: 15 })],
      ["entry 3: amount 15, not 25"],
    ],
    [
      "and to what it owes",
      [interrupted(10, { amount: -8 }), overrun(-2), charge(25, { amount: -11, costNano: 25 }), overrun(-4)],
      [],
    ],
    [
      "and to what it could not",
      [interrupted(10, { amount: -8 }), overrun(2), charge(25, { amount: -15, costNano: 23 })],
      [],
    ],
  ])("%s", async (_, entries, faults) => expect(await faultsOf(entries)).toEqual(faults));
});

describe("a budget's period", () => {
  const monthMs = Date.UTC(2026, 10);
  const ofBudget = (changes: Partial<AuditedEntry>) =>
    charge(10, { accountId: "acc_budget", costNano: 0, listCostNano: 10, ...changes });

  test.each([
    ["is the charge's own", { periodStartMs: monthMs }, true],
    ["began", { periodStartMs: monthMs + 1 }, false],
    [
      "may be that of a call that ended a week into the next",
      { periodStartMs: monthMs, atMs: monthMs + 37 * dayMs - 1 },
      true,
    ],
    ["is none that ended long ago", { periodStartMs: monthMs, atMs: monthMs + 37 * dayMs }, false],
    [
      "may have ended long ago for what was interrupted",
      { periodStartMs: monthMs, atMs: monthMs + 37 * dayMs, outcome: "interrupted" },
      true,
    ],
    [
      "may be ahead of a clock that was set back",
      { periodStartMs: monthMs, atMs: monthMs - 7 * dayMs },
      true,
    ],
    [
      "was reached by a clock that was ahead of the charge's",
      { periodStartMs: monthMs, countedAtMs: monthMs + dayMs, atMs: monthMs - 30 * dayMs },
      true,
    ],
    [
      "is none that the moment it counts at is not in",
      { periodStartMs: monthMs, countedAtMs: monthMs + 38 * dayMs, atMs: monthMs + dayMs },
      false,
    ],
    ["is none that is far ahead", { periodStartMs: monthMs, atMs: monthMs - 7 * dayMs - 1 }, false],
  ] as const)("%s", async (_, changes, isRight) => {
    const faults = await faultsOf([ofBudget(changes)]);
    expect(faults.map((fault) => fault.includes("period_start_ms"))).toEqual(isRight ? [] : [true]);
  });

  test("is not there for credit", async () => {
    expect(await faultsOf([charge(10, { periodStartMs: monthMs })])).toEqual([
      `entry 1: period_start_ms ${monthMs}, not 0`,
    ]);
  });
});

test("only a deep audit doubts the time of a charge, if it is more than a minute off", async () => {
  const entries = [charge(1, { startedAtMs: atMs - 60_001 }), charge(1, { startedAtMs: atMs - 60_000 })];
  expect(await faultsOf(entries)).toEqual([]);
  expect(await faultsOf(entries, true)).toEqual([`entry 1: at_ms ${atMs}, not ${atMs - 60_001}`]);
  const early = charge(10, { startedAtMs: atMs, totalMs: 60_001 });
  expect(await faultsOf([early], true)).toEqual([`entry 1: at_ms ${atMs}, not ${atMs + 60_001}`]);
});

test("an entry of an account that there is not is one fault", async () => {
  expect(await faultsOf([charge(10, { accountId: "acc_gone", amount: -3 })])).toEqual([
    "entry 1: account acc_gone, not none",
  ]);
});
