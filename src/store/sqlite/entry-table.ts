import type { Database } from "bun:sqlite";
import { assert } from "../../base/assert.ts";
import type { AccountTotals, Entry, HoldProgress } from "../records.ts";
import type { EntryQuery, RecomputedTotals } from "../store.ts";

/** Reads the ledger: entries, the totals kept beside them, and the holds that were open. */
export class EntryTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  list({ afterId, limit, keyId }: EntryQuery): readonly Entry[] {
    return keyId === undefined
      ? this.#database.query<Entry, [number, number]>(listEntries).all(afterId, limit)
      : this.#database.query<Entry, [string, number, number]>(listEntriesOfKey).all(keyId, afterId, limit);
  }

  byReference(keyNo: number, reference: string): Entry | null {
    return this.#database.query<Entry, [number, string]>(entryByReference).get(keyNo, reference);
  }

  changedSince(revision: number): readonly Entry[] {
    return this.#database.query<Entry, [number]>(entriesSince).all(revision);
  }

  allTotals(): readonly AccountTotals[] {
    return this.#database.query<AccountTotals, []>(`${selectTotals} ORDER BY no`).all();
  }

  totals(keyNo: number): AccountTotals {
    const found = this.#database
      .query<AccountTotals, [number]>(`${selectTotals} WHERE key_no = ?`)
      .get(keyNo);
    assert(found !== null, `key ${keyNo} has no account`);
    return found;
  }

  openHolds(): readonly HoldProgress[] {
    return this.#database.query<HoldProgress, []>(selectHolds).all();
  }

  recompute(): readonly RecomputedTotals[] {
    const kept = this.allTotals();
    const recomputed = this.#database.query<AccountTotals, []>(recomputeTotals).all();
    return kept.map((totals, index) => {
      const counted = recomputed[index];
      assert(counted?.keyId === totals.keyId, "every account is recomputed, in the same order");
      return { kept: totals, recomputed: counted };
    });
  }
}

const selectEntries = `
SELECT entries.id, keys.id AS keyId, kind, amount, at_ms AS atMs, exchange_id AS exchangeId, basis, outcome,
  period_start_ms AS periodStartMs, reference, note
FROM entries JOIN keys ON keys.no = entries.key_no`;

const listEntries = `${selectEntries} WHERE entries.id > ? ORDER BY entries.id LIMIT ?`;

const listEntriesOfKey = `${selectEntries} WHERE keys.id = ? AND entries.id > ? ORDER BY entries.id LIMIT ?`;

const entryByReference = `${selectEntries} WHERE key_no = ? AND reference = ?`;

const entriesSince = `${selectEntries} WHERE entries.revision > ? ORDER BY entries.id`;

const selectTotals = `
SELECT keys.id AS keyId, posted, purchased, used, day, day_spend AS daySpend, period_start_ms AS periodStartMs,
  period_used AS periodUsed, requests, input_tokens AS inputTokens, output_tokens AS outputTokens,
  last_cost_nano AS lastCostNano
FROM accounts JOIN keys ON keys.no = accounts.key_no`;

const selectHolds = `
SELECT holds.id AS holdId, keys.id AS keyId, opened_at_ms AS openedAtMs, period_start_ms AS periodStartMs,
  charge_so_far AS chargeSoFar, model
FROM holds JOIN keys ON keys.no = holds.key_no`;

/** The same sums as in `accounts`, from nothing but the entries. */
const recomputeTotals = `
WITH latest AS (
  SELECT key_no, max(at_ms / 86400000) AS day, max(period_start_ms) AS period_start_ms,
    max(CASE WHEN recorded_at_ms IS NOT NULL THEN id END) AS last_record
  FROM entries WHERE kind = 'charge' GROUP BY key_no
), sums AS (
  SELECT entries.key_no,
    sum(CASE WHEN kind <> 'overrun' THEN amount ELSE 0 END) AS posted,
    sum(CASE WHEN kind IN ('topup', 'adjustment') THEN amount ELSE 0 END) AS purchased,
    -sum(CASE WHEN kind = 'charge' THEN amount ELSE 0 END) AS used,
    -sum(CASE WHEN kind = 'charge' AND at_ms / 86400000 = latest.day THEN amount ELSE 0 END) AS day_spend,
    -sum(CASE WHEN kind = 'charge' AND entries.period_start_ms = latest.period_start_ms
      THEN amount ELSE 0 END) AS period_used,
    count(recorded_at_ms) AS requests,
    total(input_tokens + cached_input_tokens + cache_write_tokens) AS input_tokens,
    total(output_tokens) AS output_tokens
  FROM entries LEFT JOIN latest ON latest.key_no = entries.key_no GROUP BY entries.key_no
)
SELECT keys.id AS keyId, coalesce(posted, 0) AS posted, coalesce(purchased, 0) AS purchased,
  coalesce(used, 0) AS used, coalesce(day, 0) AS day, coalesce(day_spend, 0) AS daySpend,
  coalesce(latest.period_start_ms, 0) AS periodStartMs, coalesce(period_used, 0) AS periodUsed,
  coalesce(requests, 0) AS requests, coalesce(sums.input_tokens, 0) AS inputTokens,
  coalesce(sums.output_tokens, 0) AS outputTokens, coalesce(record.cost_nano, 0) AS lastCostNano
FROM keys
LEFT JOIN latest ON latest.key_no = keys.no
LEFT JOIN sums ON sums.key_no = keys.no
LEFT JOIN entries AS record ON record.id = latest.last_record
ORDER BY keys.no`;
