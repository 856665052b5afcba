import type { Database } from "bun:sqlite";
import { assert } from "../../base/assert.ts";
import { utcDay } from "../../base/clock.ts";
import { type AccountTotals, type Entry, emptyTotals } from "../records.ts";

interface EntryRow {
  readonly keyNo: number;
  readonly kind: Entry["kind"];
  readonly amount: number;
  readonly atMs: number;
  readonly periodStartMs: number;
  /** Null without a usage record. */
  readonly costNano: number | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

type Sums = { -readonly [Name in keyof AccountTotals]: AccountTotals[Name] };

/**
 * The totals of every account from nothing but the entries, in one pass over the table. It shares no code with what
 * keeps the totals up to date, so that a mistake there cannot hide here.
 */
export function recomputeTotals(database: Database): ReadonlyMap<string, AccountTotals> {
  const accounts = new Map<number, Sums>();
  for (const { no, id } of database
    .query<{ no: number; id: string }, []>("SELECT no, id FROM keys")
    .iterate()) {
    accounts.set(no, { ...emptyTotals(id) });
  }
  for (const row of database.query<EntryRow, []>(selectEntries).iterate()) {
    const sums = accounts.get(row.keyNo);
    assert(sums !== undefined, `entries of key ${row.keyNo}, which does not exist`);
    if (row.kind === "charge") addCharge(sums, row);
    else if (row.kind !== "overrun") addCredit(sums, row.amount);
    if (row.costNano !== null) addUsage(sums, row, row.costNano);
  }
  return new Map(Array.from(accounts.values(), (sums) => [sums.keyId, sums]));
}

function addCredit(sums: Sums, amount: number): void {
  sums.posted += amount;
  sums.purchased += amount;
}

function addCharge(sums: Sums, row: EntryRow): void {
  const charged = -row.amount;
  const day = utcDay(row.atMs);
  sums.posted -= charged;
  sums.used += charged;
  if (day > sums.day) sums.daySpend = 0;
  if (day >= sums.day) sums.daySpend += charged;
  if (row.periodStartMs > sums.periodStartMs) sums.periodUsed = 0;
  if (row.periodStartMs >= sums.periodStartMs) sums.periodUsed += charged;
  sums.day = Math.max(sums.day, day);
  sums.periodStartMs = Math.max(sums.periodStartMs, row.periodStartMs);
}

function addUsage(sums: Sums, row: EntryRow, costNano: number): void {
  sums.requests += 1;
  sums.inputTokens += row.inputTokens;
  sums.outputTokens += row.outputTokens;
  sums.lastCostNano = costNano;
}

const selectEntries = `
SELECT key_no AS keyNo, kind, amount, at_ms AS atMs, period_start_ms AS periodStartMs, cost_nano AS costNano,
  input_tokens + cached_input_tokens + cache_write_tokens AS inputTokens, output_tokens AS outputTokens
FROM entries ORDER BY id`;
