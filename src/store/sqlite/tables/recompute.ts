import type { Database } from "bun:sqlite";
import { utcDay } from "../../../base/clock.ts";
import { matchesModel } from "../../../base/model-pattern.ts";
import { periodStart } from "../../../base/period.ts";
import type { CapLimit, Entry } from "../../records.ts";
import type { ExactTotals, RecomputedTotals } from "../../store.ts";

interface EntryRow {
  readonly accountNo: number;
  readonly keyNo: number;
  readonly kind: Entry["kind"];
  readonly amount: number;
  readonly atMs: number;
  readonly countedAtMs: number;
  readonly periodStartMs: number;
  readonly model: string | null;
  /** Null without a usage record. */
  readonly costNano: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Sums as they are kept, with what else is in their rows. */
interface KeptRow {
  readonly no: number | bigint;
  readonly keyId: string | null;
  readonly [sum: string]: bigint | number | string | null;
}

interface CapRow extends Pick<CapLimit, "period" | "models"> {
  readonly no: number;
  readonly keyNo: number | null;
  readonly accountNo: number | null;
  readonly periodStartMs: number;
}

type Sums = Record<string, bigint>;

/**
 * Computes the totals of every account, key and cap from the entries alone, in one pass over the table. It shares no
 * code with what maintains the totals, so that a bug there cannot hide here.
 */
export function recomputeTotals(database: Database): readonly RecomputedTotals[] {
  const recount = new Recount(database.query<CapRow, []>(selectCapTerms).all());
  for (const row of database.query<EntryRow, []>(selectEntries).iterate()) recount.add(row);
  const kept = (where: string, sql: string, recomputed: ReadonlyMap<number, Sums>, nothing: Sums) =>
    database
      .query<KeptRow, []>(sql)
      .safeIntegers(true)
      .all()
      .map((row) => totalsOf(where, row, recomputed.get(Number(row.no)) ?? nothing));
  return [
    ...kept("account", selectAccountSums, recount.accounts, noAccountSums()),
    ...kept("key", selectKeySums, recount.keys, noKeySums()),
    ...kept("cap", selectCapSums, recount.caps, { used: 0n }),
  ];
}

function totalsOf(what: string, { no, keyId, ...sums }: KeptRow, recomputed: ExactTotals): RecomputedTotals {
  const kept = Object.fromEntries(Object.entries(sums).map(([name, value]) => [name, BigInt(value ?? 0)]));
  return { keyId, where: what === "cap" ? `cap ${no}` : what, kept, recomputed };
}

class Recount {
  readonly accounts = new Map<number, Sums>();
  readonly keys = new Map<number, Sums>();
  readonly caps = new Map<number, Sums>();
  readonly #capRows: readonly CapRow[];

  constructor(capRows: readonly CapRow[]) {
    this.#capRows = capRows;
  }

  add(row: EntryRow): void {
    const account = sumsIn(this.accounts, row.accountNo, noAccountSums);
    if (row.kind === "topup" || row.kind === "adjustment") addCredit(account, row.amount);
    if (row.kind !== "charge") return;
    addAccountCharge(account, row);
    const key = sumsIn(this.keys, row.keyNo, noKeySums);
    addKeyCharge(key, row);
    if (row.costNano !== null) addUsage(key, row, row.costNano);
    for (const cap of this.#capRows) this.#addToCap(cap, row);
  }

  #addToCap({ no, keyNo, accountNo, period, models, periodStartMs }: CapRow, row: EntryRow): void {
    if (row.keyNo !== keyNo && row.accountNo !== accountNo) return;
    if (periodStart(period, row.countedAtMs) !== periodStartMs || !matchesModel(models, row.model ?? ""))
      return;
    add(
      sumsIn(this.caps, no, () => ({ used: 0n })),
      "used",
      -BigInt(row.amount),
    );
  }
}

function sumsIn(all: Map<number, Sums>, no: number, nothing: () => Sums): Sums {
  const known = all.get(no) ?? nothing();
  all.set(no, known);
  return known;
}

function noAccountSums(): Sums {
  return { posted: 0n, purchased: 0n, used: 0n, periodStartMs: 0n, periodUsed: 0n };
}

function noKeySums(): Sums {
  return {
    day: 0n,
    daySpend: 0n,
    spent: 0n,
    requests: 0n,
    inputTokens: 0n,
    outputTokens: 0n,
    lastCostNano: 0n,
  };
}

function add(sums: Sums, name: string, amount: bigint): void {
  sums[name] = (sums[name] ?? 0n) + amount;
}

function addCredit(sums: Sums, amount: number): void {
  add(sums, "posted", BigInt(amount));
  add(sums, "purchased", BigInt(amount));
}

function addAccountCharge(sums: Sums, row: EntryRow): void {
  const charged = -BigInt(row.amount);
  add(sums, "posted", -charged);
  add(sums, "used", charged);
  addLatest(sums, "periodStartMs", "periodUsed", BigInt(row.periodStartMs), charged);
}

function addKeyCharge(sums: Sums, row: EntryRow): void {
  const charged = -BigInt(row.amount);
  add(sums, "spent", charged);
  addLatest(sums, "day", "daySpend", BigInt(utcDay(row.atMs)), charged);
}

/** Adds to the sum of the latest day or period; a later one begins anew, an earlier one changes nothing. */
function addLatest(sums: Sums, when: string, sum: string, at: bigint, charged: bigint): void {
  const latest = sums[when] ?? 0n;
  if (at < latest) return;
  sums[sum] = (at > latest ? 0n : (sums[sum] ?? 0n)) + charged;
  sums[when] = at;
}

function addUsage(sums: Sums, row: EntryRow, costNano: number): void {
  add(sums, "requests", 1n);
  add(sums, "inputTokens", BigInt(row.inputTokens));
  add(sums, "outputTokens", BigInt(row.outputTokens));
  sums["lastCostNano"] = BigInt(costNano);
}

const selectEntries = `
SELECT coalesce(account_no, key_no) AS accountNo, key_no AS keyNo, kind, amount, at_ms AS atMs, model,
  coalesce(counted_at_ms, at_ms) AS countedAtMs, period_start_ms AS periodStartMs, cost_nano AS costNano,
  input_tokens + cached_input_tokens + cache_write_tokens AS inputTokens, output_tokens AS outputTokens
FROM entries ORDER BY id`;

const selectCapTerms = `
SELECT no, key_no AS keyNo, account_no AS accountNo, period, models, period_start_ms AS periodStartMs FROM caps`;

const selectAccountSums = `
SELECT no, (SELECT id FROM keys WHERE keys.no = accounts.no) AS keyId, posted, purchased, used,
  period_start_ms AS periodStartMs, period_used AS periodUsed
FROM accounts ORDER BY no`;

const selectKeySums = `
SELECT key_no AS no, keys.id AS keyId, day, day_spend AS daySpend, spent, requests, input_tokens AS inputTokens,
  output_tokens AS outputTokens, last_cost_nano AS lastCostNano
FROM key_totals JOIN keys ON keys.no = key_no ORDER BY key_no`;

const selectCapSums = `
SELECT caps.no, keys.id AS keyId, used FROM caps LEFT JOIN keys ON keys.no = caps.key_no ORDER BY caps.no`;
