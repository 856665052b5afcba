import type { ChainedRow } from "../base/money/chain.ts";
import type { FeedEntry } from "./feed-records.ts";
import type { Entry } from "./records.ts";
import type { ListedEntry } from "./store.ts";
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

/** An entry row with the additional fields of an audit and of the chain. */
export type ListedRow = EntryRow &
  Omit<ListedEntry, keyof Entry | "chained"> &
  Pick<ChainedRow, (typeof onlyChained)[number]>;

export function listedEntryOf(row: ListedRow): ListedEntry {
  const { cache_savings_nano, labels, route, upstream_model, stream, status, ...listed } = row;
  const { reasoning_tokens, first_byte_ms, attempts, ...entry } = listed;
  const { countedAtMs, ratesId, costNano, startedAtMs, totalMs, hash } = entry;
  const chained = chainedRowOf(row);
  return { ...entryOf(entry), countedAtMs, ratesId, costNano, startedAtMs, totalMs, hash, chained };
}

function chainedRowOf(row: ListedRow): ChainedRow {
  return {
    kind: row.kind,
    amount: row.amount,
    at_ms: row.atMs,
    period_start_ms: row.periodStartMs,
    counted_at_ms: row.countedAtMs,
    exchange_id: row.exchangeId,
    basis: row.basis,
    outcome: row.outcome,
    reference: row.reference,
    note: row.note,
    rates_id: row.ratesId,
    quantities: row.quantities,
    list_cost_nano: row.listCostNano,
    cache_savings_nano: row.cache_savings_nano,
    labels: row.labels,
    recorded_at_ms: row.startedAtMs,
    route: row.route,
    model: row.model,
    asked_model: row.requestedModel,
    provider: row.provider,
    upstream_model: row.upstream_model,
    stream: row.stream === null ? null : Number(row.stream),
    status: row.status,
    input_tokens: row.inputTokens,
    cached_input_tokens: row.cachedInputTokens,
    cache_write_tokens: row.cacheWriteTokens,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoning_tokens,
    cost_nano: row.costNano,
    first_byte_ms: row.first_byte_ms,
    total_ms: row.totalMs,
    attempts: row.attempts,
  };
}

/** An entry row with the additional fields of the feed. */
export type FeedEntryRow = EntryRow & Omit<FeedEntry, keyof Entry>;

export function feedEntryOf(row: FeedEntryRow): FeedEntry {
  const { mode, accountLabel, keyLabel, labels, hash } = row;
  return { ...entryOf(row), mode, accountLabel, keyLabel, labels, hash };
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

/** Columns that an entry's hash covers and no other field has. */
const onlyChained = [
  ...(["cache_savings_nano", "labels", "route", "upstream_model", "stream", "status"] as const),
  ...(["reasoning_tokens", "first_byte_ms", "attempts"] as const),
] as const;

const textColumns: ReadonlySet<string> = new Set(["labels", "route", "upstream_model", "stream"]);

const chainedColumns = onlyChained
  .map((name) => `entries.${name}${textColumns.has(name) ? "" : "::float8"} AS ${name}`)
  .join(", ");

/** For `listedEntryOf`. */
export const selectListed = `
SELECT ${entryColumns}, entries.hash, ${chainedColumns}, entries.counted_at_ms::float8 AS "countedAtMs", entries.rates_id::float8 AS "ratesId", entries.cost_nano::float8 AS "costNano",
  entries.recorded_at_ms::float8 AS "startedAtMs", entries.total_ms::float8 AS "totalMs"
FROM ${entryTables}`;

/** For `feedEntryOf`. */
export const selectFeedEntries = `
SELECT ${entryColumns}, ${ofAccount("mode")} AS mode, ${ofAccount("account_label")} AS "accountLabel", keys.label AS "keyLabel", entries.labels, entries.hash
FROM ${entryTables}`;

function ofAccount(column: string): string {
  return `(SELECT accounts.${column} FROM accounts WHERE accounts.no = coalesce(entries.account_no, entries.key_no))`;
}
