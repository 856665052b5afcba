import type { FeedEntry } from "./feed-records.ts";
import type { Entry } from "./records.ts";
import type { AuditedEntry } from "./store.ts";
import { quantitiesOf } from "./written-rows.ts";

/** An entry as a database returns it. */
export interface EntryRow extends Omit<Entry, "quantities"> {
  readonly quantities: string | null;
  /** Null without a usage record, like the next three fields. */
  readonly inputTokens: number | null;
  readonly cachedInputTokens: number | null;
  readonly cacheWriteTokens: number | null;
  readonly outputTokens: number | null;
}

export function entryOf(row: EntryRow): Entry {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, quantities, ...entry } = row;
  const hasRecord = inputTokens !== null;
  const usage = hasRecord
    ? {
        inputTokens,
        cachedInputTokens: cachedInputTokens ?? 0,
        cacheWriteTokens: cacheWriteTokens ?? 0,
        outputTokens: outputTokens ?? 0,
      }
    : null;
  return { ...entry, quantities: entry.rates === null ? null : quantitiesOf(quantities, usage) };
}

/** An entry row with the additional fields of an audit. */
export type AuditedRow = EntryRow & Omit<AuditedEntry, keyof Entry>;

export function auditedEntryOf(row: AuditedRow): AuditedEntry {
  const { countedAtMs, ratesId, costNano, startedAtMs, totalMs } = row;
  return { ...entryOf(row), countedAtMs, ratesId, costNano, startedAtMs, totalMs };
}

/** An entry row with the additional fields of the feed. */
export type FeedEntryRow = EntryRow & Omit<FeedEntry, keyof Entry>;

export function feedEntryOf(row: FeedEntryRow): FeedEntry {
  const { mode, accountLabel, keyLabel, labels } = row;
  return { ...entryOf(row), mode, accountLabel, keyLabel, labels };
}

const entryColumns = `
entries.id::float8 AS id, ${ofAccount("id")} AS "accountId",
  nullif(keys.id, '') AS "keyId", entries.kind, entries.amount::float8 AS amount, entries.at_ms::float8 AS "atMs",
  entries.exchange_id AS "exchangeId", entries.basis, entries.outcome, entries.period_start_ms::float8 AS "periodStartMs",
  entries.reference, entries.note, entries.model, entries.asked_model AS "requestedModel", entries.provider,
  (SELECT rates.rates FROM rates WHERE rates.id = entries.rates_id) AS rates, entries.quantities, entries.list_cost_nano::float8 AS "listCostNano",
  entries.input_tokens::float8 AS "inputTokens", entries.cached_input_tokens::float8 AS "cachedInputTokens",
  entries.cache_write_tokens::float8 AS "cacheWriteTokens", entries.output_tokens::float8 AS "outputTokens"`;

const entryTables = "entries LEFT JOIN keys ON keys.no = entries.key_no";

/** For `entryOf`. */
export const selectEntries = `SELECT ${entryColumns} FROM ${entryTables}`;

/** For `auditedEntryOf`. */
export const selectAudited = `
SELECT ${entryColumns}, entries.counted_at_ms::float8 AS "countedAtMs", entries.rates_id::float8 AS "ratesId", entries.cost_nano::float8 AS "costNano",
  entries.recorded_at_ms::float8 AS "startedAtMs", entries.total_ms::float8 AS "totalMs"
FROM ${entryTables}`;

/** For `feedEntryOf`. */
export const selectFeedEntries = `
SELECT ${entryColumns}, ${ofAccount("mode")} AS mode, ${ofAccount("account_label")} AS "accountLabel", keys.label AS "keyLabel", entries.labels
FROM ${entryTables}`;

function ofAccount(column: string): string {
  return `(SELECT accounts.${column} FROM accounts WHERE accounts.no = coalesce(entries.account_no, entries.key_no))`;
}
