import type { Database } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { type EntryRow, entryOf, selectEntries } from "../../entry-row.ts";
import { type HoldRow, holdOf } from "../../hold-row.ts";
import type { AccountTotals, Entry, HoldProgress, KeyTotals } from "../../records.ts";
import { type SumRow, sumChecks, sumFaults } from "../../reporting/sum-audit.ts";
import type { LedgerFault, RecomputedTotals } from "../../store.ts";
import { sqliteText } from "../queries.ts";
import { recomputeTotals } from "./recompute.ts";

/** Reads the ledger: entries, the totals kept beside them, and the holds that were open. */
export class EntryTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  auditSums(nowMs: number): readonly LedgerFault[] {
    return sumChecks("SELECT rolled_up_through FROM state", nowMs).flatMap((check) =>
      this.#database
        .query<SumRow, []>(check.sql)
        .all()
        .flatMap((row) => sumFaults(check, row)),
    );
  }

  byReference(accountNo: number, reference: string): Entry | null {
    const row = this.#database.query<EntryRow, [number, string]>(entryByReference).get(accountNo, reference);
    return row && entryOf(row);
  }

  changedSince(revision: number): readonly Entry[] {
    return this.#database.query<EntryRow, [number]>(entriesSince).all(revision).map(entryOf);
  }

  allAccountTotals(): readonly AccountTotals[] {
    return this.#database.query<AccountTotals, []>(`${selectAccountTotals} ORDER BY no`).all();
  }

  allKeyTotals(): readonly KeyTotals[] {
    return this.#database.query<KeyTotals, []>(`${selectKeyTotals} ORDER BY keys.no`).all();
  }

  totals(accountNo: number): AccountTotals {
    const found = this.#database
      .query<AccountTotals, [number]>(`${selectAccountTotals} WHERE no = ?`)
      .get(accountNo);
    assert(found !== null, `there is no account ${accountNo}`);
    return found;
  }

  keyTotals(keyNo: number): KeyTotals {
    const found = this.#database
      .query<KeyTotals, [number]>(`${selectKeyTotals} WHERE keys.no = ?`)
      .get(keyNo);
    assert(found !== null, `there is no key ${keyNo}`);
    return found;
  }

  /** Whether this charge is among the latest entries. */
  hasRecentCharge(exchangeId: string): boolean {
    return this.#database.query<{ id: number }, [string]>(selectRecentCharge).get(exchangeId) !== null;
  }

  openHolds(): readonly HoldProgress[] {
    return this.#database.query<HoldRow, []>(selectHolds).all().map(holdOf);
  }

  /** Compared in SQL, because lifetime sums may exceed what a double represents exactly. */
  unbalancedId(): string | null {
    return this.#database.query<{ id: string }, []>(selectUnbalanced).get()?.id ?? null;
  }

  recompute(): readonly RecomputedTotals[] {
    return recomputeTotals(this.#database);
  }
}

const select = sqliteText(selectEntries);

const entryByReference = `${select} WHERE coalesce(entries.account_no, entries.key_no) = ? AND reference = ?`;

const entriesSince = `${select} WHERE entries.revision > ? ORDER BY entries.id`;

const selectAccountTotals = `
SELECT id AS accountId, posted, purchased, used, period_start_ms AS periodStartMs, period_used AS periodUsed,
  counted_at_ms AS countedAtMs, CAST(purchased AS text) AS purchasedDigits
FROM accounts`;

const selectKeyTotals = `
SELECT keys.id AS keyId, day, day_spend AS daySpend, spent, requests, input_tokens AS inputTokens,
  output_tokens AS outputTokens, last_cost_nano AS lastCostNano, CAST(day_spend AS text) AS daySpendDigits,
  CAST(spent AS text) AS spentDigits
FROM key_totals JOIN keys ON keys.no = key_no`;

/** There is no index: it was made a moment ago, or not at all. */
const selectRecentCharge = `
SELECT id FROM entries WHERE id > (SELECT max(id) FROM entries) - 10000 AND exchange_id = ? AND kind = 'charge'`;

const selectUnbalanced = `
SELECT coalesce((SELECT id FROM keys WHERE keys.no = accounts.no), accounts.id) AS id FROM accounts
WHERE posted <> purchased - used OR period_used > used OR (mode = 'credit' AND posted < 0 AND NOT is_open)
UNION ALL
SELECT keys.id FROM key_sums JOIN keys ON keys.no = key_no WHERE day_spend > spent
LIMIT 1`;

const selectHolds = `
SELECT holds.id AS holdId, keys.id AS keyId, accounts.id AS accountId, opened_at_ms AS openedAtMs,
  holds.period_start_ms AS periodStartMs, coalesce(holds.counted_at_ms, opened_at_ms) AS countedAtMs, charge_so_far AS chargeSoFar, model, asked_model AS askedModel, labels, rates_id AS ratesId, rates, quantities, served
FROM holds JOIN keys ON keys.no = holds.key_no
  JOIN accounts ON accounts.no = coalesce(holds.account_no, holds.key_no) LEFT JOIN rates ON rates.id = holds.rates_id`;
