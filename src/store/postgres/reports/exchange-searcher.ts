import type { AttemptRecord } from "../../../base/attempt.ts";
import { unknownModelMessage } from "../../../base/unknown-model.ts";
import { type EntryRow, entryOf } from "../../entry-row.ts";
import { type ExchangeRow, listedExchange } from "../../reporting/exchange-row.ts";
import { listExchanges } from "../../reporting/list-exchanges.ts";
import type { Cut, ExchangeQuery, FiledExchange, ListedExchange } from "../../reports.ts";
import type { Query } from "../client.ts";
import { entryColumns } from "../tables/entry-table.ts";
import { addKey, Conditions, searchRows, timeAt } from "./row-searcher.ts";

interface EndingRow extends ExchangeRow {
  readonly attemptDetails: string | null;
}

export function searchExchanges(query: Query, asked: ExchangeQuery): Promise<Cut<ListedExchange, string>> {
  return listExchanges(asked, {
    completed: (beforeId) => searchCompleted(query, asked, beforeId),
    ended: (beforeId) => searchEnded(query, asked, beforeId),
    completedTimeAt: (id) => timeAt(query, "entries", id),
    endedTimeAt: (id) => timeAt(query, "exchange_endings", id),
  });
}

export async function findExchange(query: Query, exchangeId: string): Promise<FiledExchange | null> {
  const [ending] = await query<EndingRow>(`${selectEnding} WHERE exchange_endings.exchange_id = $1 LIMIT 1`, [
    exchangeId,
  ]);
  const entries = (await query<EntryRow>(entriesOfExchange, [exchangeId])).map(entryOf);
  const attempts =
    ending?.attemptDetails == null ? [] : (JSON.parse(ending.attemptDetails) as AttemptRecord[]);
  if (ending !== undefined) return { exchange: listedExchange(ending), attempts, entries };
  if (entries.length === 0) return null;
  const [record] = await query<ExchangeRow>(
    `${selectRecord} WHERE entries.exchange_id = $1 AND kind = 'charge' AND recorded_at_ms IS NOT NULL`,
    [exchangeId],
  );
  return { exchange: record === undefined ? null : listedExchange(record), attempts, entries };
}

function searchCompleted(query: Query, asked: ExchangeQuery, beforeId: number | undefined) {
  const conditions = conditionsOf(asked, "entries");
  conditions.add("recorded_at_ms IS NOT NULL AND entries.outcome = 'completed'");
  const { limit, sinceMs, untilMs } = asked;
  const search = {
    select: selectRecord,
    table: "entries",
    conditions,
    beforeId,
    limit,
    sinceMs,
    untilMs,
  } as const;
  return searchRows<ExchangeRow>(query, search, (row) => row.rowId);
}

function searchEnded(query: Query, asked: ExchangeQuery, beforeId: number | undefined) {
  const table = "exchange_endings";
  const conditions = conditionsOf(asked, table);
  if (asked.outcome === undefined) conditions.add("exchange_endings.outcome <> 'completed'");
  else conditions.add("exchange_endings.outcome = $", asked.outcome);
  const { limit, sinceMs, untilMs } = asked;
  const search = { select: selectEnding, table, conditions, beforeId, limit, sinceMs, untilMs } as const;
  return searchRows<ExchangeRow>(query, search, (row) => row.rowId);
}

function conditionsOf(asked: ExchangeQuery, table: "entries" | "exchange_endings"): Conditions {
  const conditions = new Conditions();
  if (asked.keyId !== undefined) addKey(conditions, table, asked.keyId);
  if (asked.model !== undefined && table === "exchange_endings") {
    conditions.add(
      "(exchange_endings.model = $ OR message = $)",
      asked.model,
      unknownModelMessage(asked.model),
    );
  } else if (asked.model !== undefined) {
    conditions.add("entries.model = $", asked.model);
  }
  for (const name of ["provider", "route", "code"] as const) {
    const value = asked[name];
    if (value !== undefined) conditions.add(`${table}.${name} = $`, value);
  }
  if (asked.sinceMs !== undefined) conditions.add(`${table}.at_ms >= $::int8`, asked.sinceMs);
  if (asked.untilMs !== undefined) conditions.add(`${table}.at_ms < $::int8`, asked.untilMs);
  return conditions;
}

const ofEntry = `
  entries.id::float8 AS "entryId", recorded_at_ms IS NOT NULL AS "hasRecord", input_tokens::float8 AS "inputTokens",
  cached_input_tokens::float8 AS "cachedInputTokens", cache_write_tokens::float8 AS "cacheWriteTokens",
  output_tokens::float8 AS "outputTokens", reasoning_tokens::float8 AS "reasoningTokens", basis,
  coalesce(-amount, 0)::float8 AS charged, list_cost_nano::float8 AS "listCostNano"`;

const both = (table: string) => `
  ${table}.exchange_id AS "exchangeId", keys.id AS "keyId", ${table}.at_ms::float8 AS "endedAtMs", ${table}.route,
  ${table}.model, ${table}.provider, ${table}.upstream_model AS "upstreamModel", ${table}.stream, ${table}.outcome,
  ${table}.status, ${table}.first_byte_ms::float8 AS "firstByteMs", ${table}.total_ms::float8 AS "totalMs",
  ${table}.attempts`;

/** Usage records. */
const selectRecord = `
SELECT entries.id::float8 AS "rowId", recorded_at_ms::float8 AS "startedAtMs", NULL::text AS code,
  NULL::text AS message, 0 AS alike, ${both("entries")}, ${ofEntry}
FROM entries JOIN keys ON keys.no = entries.key_no`;

/** Kept endings, with what the ledger says of those that were charged. */
const selectEnding = `
SELECT exchange_endings.id::float8 AS "rowId", started_at_ms::float8 AS "startedAtMs", code, message, alike,
  attempt_details AS "attemptDetails", ${both("exchange_endings")}, ${ofEntry}
FROM exchange_endings JOIN keys ON keys.no = exchange_endings.key_no
LEFT JOIN entries ON entries.id = entry_id AND entries.month = entry_month`;

/** Each half has an index of its own. */
const entriesOfExchange = ["kind = 'charge'", "kind <> 'charge'"]
  .map(
    (kind) => `SELECT ${entryColumns} FROM entries JOIN keys ON keys.no = entries.key_no
    WHERE entries.exchange_id = $1 AND ${kind}`,
  )
  .join(" UNION ALL ")
  .concat(" ORDER BY id");
