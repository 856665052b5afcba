import type { Database } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { utcDay } from "../../../base/clock.ts";
import type { Entry } from "../../records.ts";
import type { ExactTotals } from "../../store.ts";

interface EntryRow {
  readonly accountNo: number;
  readonly kind: Entry["kind"];
  readonly amount: number;
  readonly atMs: number;
  readonly periodStartMs: number;
  /** Null without a usage record. */
  readonly costNano: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

type Sums = { -readonly [Name in keyof ExactTotals]: ExactTotals[Name] };

/**
 * Computes the totals of every account from the entries alone, in one pass over the table. It shares no code with what
 * maintains the totals, so that a bug there cannot hide here.
 */
export function recomputeTotals(database: Database): ReadonlyMap<string, ExactTotals> {
  const accounts = new Map<number, Sums>();
  for (const { no, id } of database
    .query<{ no: number; id: string }, []>("SELECT account_no AS no, id FROM keys")
    .iterate()) {
    accounts.set(no, nothingYet(id));
  }
  for (const row of database.query<EntryRow, []>(selectEntries).iterate()) {
    const sums = accounts.get(row.accountNo);
    assert(sums !== undefined, `entries of account ${row.accountNo}, which does not exist`);
    if (row.kind === "charge") addCharge(sums, row);
    else if (row.kind !== "overrun") addCredit(sums, row.amount);
    if (row.costNano !== null) addUsage(sums, row, row.costNano);
  }
  return new Map(Array.from(accounts.values(), (sums) => [sums.keyId, sums]));
}

function nothingYet(keyId: string): Sums {
  return {
    keyId,
    posted: 0n,
    purchased: 0n,
    used: 0n,
    day: 0n,
    daySpend: 0n,
    periodStartMs: 0n,
    periodUsed: 0n,
    requests: 0n,
    inputTokens: 0n,
    outputTokens: 0n,
    lastCostNano: 0n,
  };
}

function addCredit(sums: Sums, amount: number): void {
  sums.posted += BigInt(amount);
  sums.purchased += BigInt(amount);
}

function addCharge(sums: Sums, row: EntryRow): void {
  const charged = -BigInt(row.amount);
  const day = BigInt(utcDay(row.atMs));
  const periodStartMs = BigInt(row.periodStartMs);
  sums.posted -= charged;
  sums.used += charged;
  if (day > sums.day) sums.daySpend = 0n;
  if (day >= sums.day) sums.daySpend += charged;
  if (periodStartMs > sums.periodStartMs) sums.periodUsed = 0n;
  if (periodStartMs >= sums.periodStartMs) sums.periodUsed += charged;
  if (day > sums.day) sums.day = day;
  if (periodStartMs > sums.periodStartMs) sums.periodStartMs = periodStartMs;
}

function addUsage(sums: Sums, row: EntryRow, costNano: number): void {
  sums.requests += 1n;
  sums.inputTokens += BigInt(row.inputTokens);
  sums.outputTokens += BigInt(row.outputTokens);
  sums.lastCostNano = BigInt(costNano);
}

const selectEntries = `
SELECT coalesce(account_no, key_no) AS accountNo, kind, amount, at_ms AS atMs, period_start_ms AS periodStartMs, cost_nano AS costNano,
  input_tokens + cached_input_tokens + cache_write_tokens AS inputTokens, output_tokens AS outputTokens
FROM entries ORDER BY id`;
