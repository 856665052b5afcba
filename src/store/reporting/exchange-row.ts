import { readLabels } from "../../base/requests/labels.ts";
import { unitsOf } from "../../base/usage/metered-units.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { ListedExchange } from "../reports.ts";
import { quantitiesOf } from "../stored-quantities.ts";

/** A usage record or a request-log row as a database returns it, under the same names. */
export interface ExchangeRow extends Omit<ListedExchange, "usage" | "units" | "stream" | "labels">, Usage {
  /** Its id in its own table. */
  readonly rowId: number;
  /** SQLite returns 0 and 1 for false and true. */
  readonly stream: number | boolean;
  readonly hasRecord: number | boolean;
  readonly labels: string | null;
  readonly quantities: string | null;
  /** Not selected for lists. */
  readonly attemptDetails?: string | null;
}

export function listedExchange(row: ExchangeRow): ListedExchange {
  const { rowId: _, hasRecord, attemptDetails: __, stream, labels, quantities, ...rest } = row;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...exchange } =
    rest;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return {
    ...exchange,
    stream: Boolean(stream),
    usage: hasRecord ? usage : null,
    // Tokens are not units, so the usage record's tokens are not needed.
    units: unitsOf(quantitiesOf(quantities, null) ?? {}),
    labels: readLabels(labels),
  };
}

/** The charge in the usage record includes debt in a separate entry. Records older than rates have none. */
const ofEntry = `
  entries.id::float8 AS "entryId", recorded_at_ms IS NOT NULL AS "hasRecord", input_tokens::float8 AS "inputTokens",
  cached_input_tokens::float8 AS "cachedInputTokens", cache_write_tokens::float8 AS "cacheWriteTokens",
  output_tokens::float8 AS "outputTokens", reasoning_tokens::float8 AS "reasoningTokens", entries.quantities, basis,
  (CASE WHEN cost_nano > -amount AND rates_id IS NOT NULL THEN cost_nano ELSE coalesce(-amount, 0) END)::float8 AS charged, list_cost_nano::float8 AS "listCostNano"`;

const both = (table: string) => `
  ${table}.exchange_id AS "exchangeId", keys.id AS "keyId", ${table}.at_ms::float8 AS "endedAtMs", ${table}.route,
  ${table}.model, ${table}.provider, ${table}.upstream_model AS "upstreamModel", ${table}.stream, ${table}.outcome,
  ${table}.status, ${table}.first_byte_ms::float8 AS "firstByteMs", ${table}.total_ms::float8 AS "totalMs",
  ${table}.attempts, ${table}.labels`;

/** Usage records. */
export const selectRecord = `
SELECT entries.id::float8 AS "rowId", recorded_at_ms::float8 AS "startedAtMs", NULL::text AS code,
  NULL::text AS message, 0 AS alike, NULL::text AS bound, NULL::float8 AS needed, ${both("entries")}, ${ofEntry}
FROM entries JOIN keys ON keys.no = entries.key_no`;

const outcomeColumns = `exchange_endings.id::float8 AS "rowId", started_at_ms::float8 AS "startedAtMs", code, message, alike, bound, needed::float8 AS needed,
  ${both("exchange_endings")}, ${ofEntry}`;
const outcomeTables = `exchange_endings JOIN keys ON keys.no = exchange_endings.key_no
LEFT JOIN entries ON entries.id = entry_id AND entries.month = entry_month`;

/** Request-log rows, with the ledger's charge where there is one. */
export const selectOutcome = `SELECT ${outcomeColumns} FROM ${outcomeTables}`;
export const selectOutcomeWithAttempts = `SELECT ${outcomeColumns}, attempt_details AS "attemptDetails" FROM ${outcomeTables}`;
