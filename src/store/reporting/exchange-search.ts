import { unknownModelMessage } from "../../base/models/unknown-model.ts";
import { unitsOf } from "../../base/money/rates.ts";
import type { AttemptRecord } from "../../base/requests/attempt.ts";
import { readLabels } from "../../base/requests/labels.ts";
import type { Usage } from "../../base/usage/usage.ts";
import { Parameters, type Query } from "../query.ts";
import type { Entry } from "../records.ts";
import type { CursorPage, ExchangeQuery, FiledExchange, ListedExchange } from "../reports.ts";
import { keyMatches, partPattern } from "../tables/key-search.ts";
import { quantitiesOf } from "../written-rows.ts";
import { sentLabel } from "./label-column.ts";
import { mergePages } from "./merge-pages.ts";
import { ofKey, type SearchedTable, searchRows, timeAt } from "./row-search.ts";

/** The charge in the usage record includes debt in a separate entry. Records older than rates have none. */
const ofEntry = `
  entries.id::float8 AS "entryId", entries.recorded_at_ms IS NOT NULL AS "hasRecord", entries.input_tokens::float8 AS "inputTokens",
  entries.cached_input_tokens::float8 AS "cachedInputTokens", entries.cache_write_tokens::float8 AS "cacheWriteTokens",
  entries.output_tokens::float8 AS "outputTokens", entries.reasoning_tokens::float8 AS "reasoningTokens", entries.quantities, entries.basis,
  (CASE WHEN entries.cost_nano > -entries.amount AND entries.rates_id IS NOT NULL THEN entries.cost_nano
    ELSE coalesce(-entries.amount, 0) END)::float8 AS charged, entries.list_cost_nano::float8 AS "listCostNano"`;

const both = (table: string) => `
  ${table}.exchange_id AS "exchangeId", keys.id AS "keyId", ${table}.at_ms::float8 AS "endedAtMs", ${table}.route,
  ${table}.model, ${table}.provider, ${table}.upstream_model AS "upstreamModel", ${table}.stream, ${table}.outcome,
  ${table}.status, ${table}.first_byte_ms::float8 AS "firstByteMs", ${table}.total_ms::float8 AS "totalMs",
  ${table}.attempts, ${table}.labels`;

/** Usage records. */
const selectRecord = `
SELECT entries.id::float8 AS "rowId", entries.recorded_at_ms::float8 AS "startedAtMs", NULL::text AS code,
  NULL::text AS message, 0 AS alike, NULL::text AS bound, NULL::float8 AS needed, ${both("entries")}, ${ofEntry}
FROM entries JOIN keys ON keys.no = entries.key_no`;

const outcomeColumns = `exchange_endings.id::float8 AS "rowId", exchange_endings.started_at_ms::float8 AS "startedAtMs", exchange_endings.code,
  exchange_endings.message, exchange_endings.alike, exchange_endings.bound, exchange_endings.needed::float8 AS needed,
  ${both("exchange_endings")}, ${ofEntry}`;

const outcomeTables = `exchange_endings JOIN keys ON keys.no = exchange_endings.key_no
LEFT JOIN entries ON entries.id = exchange_endings.entry_id AND entries.month = exchange_endings.entry_month`;

/** Request-log rows, with the ledger's charge where there is one. */
const selectOutcome = `SELECT ${outcomeColumns} FROM ${outcomeTables}`;

const selectOutcomeWithAttempts = `SELECT ${outcomeColumns}, exchange_endings.attempt_details AS "attemptDetails" FROM ${outcomeTables}`;

/** The entries of an exchange. `near` is the id of one of them, if known. */
export type EntryFinder = (exchangeId: string, near: number | null) => Promise<readonly Entry[]>;

/**
 * Completed exchanges are usage records of the ledger; all others are rows of the request log. The two are read side
 * by side and merged by their end times.
 */
export async function listExchanges(
  read: Query,
  filter: ExchangeQuery,
): Promise<CursorPage<ListedExchange, string>> {
  const { cursor, limit, outcome } = filter;
  const page = await mergePages(cursor, limit, {
    completed: (beforeId) => (canBeCompleted(filter) ? searchTable(read, filter, "entries", beforeId) : null),
    ended: (beforeId) =>
      outcome === "completed" ? null : searchTable(read, filter, "exchange_endings", beforeId),
    completedTimeAt: (id) => timeAt(read, "entries", id),
    endedTimeAt: (id) => timeAt(read, "exchange_endings", id),
  });
  return { rows: page.rows.map(listedExchange), next: page.next };
}

/** A completed exchange has no error code. */
function canBeCompleted({ outcome, code }: ExchangeQuery): boolean {
  return (outcome === undefined || outcome === "completed") && code === undefined;
}

export async function findExchange(
  read: Query,
  entriesOf: EntryFinder,
  exchangeId: string,
  entryId: number | null,
): Promise<FiledExchange | null> {
  const [logged] = await read<ExchangeRow>(
    `${selectOutcomeWithAttempts} WHERE exchange_endings.exchange_id = $1::text LIMIT 1`,
    [exchangeId],
  );
  const isCharged = logged === undefined || logged.entryId !== null;
  const entries = isCharged ? await entriesOf(exchangeId, logged?.entryId ?? entryId) : [];
  const attempts =
    logged?.attemptDetails == null ? [] : (JSON.parse(logged.attemptDetails) as AttemptRecord[]);
  if (logged !== undefined) return { exchange: listedExchange(logged), attempts, entries };
  if (entries.length === 0) return null;
  const [record] = await read<ExchangeRow>(
    `${selectRecord} WHERE entries.id = ANY ($1::int8[]) AND entries.recorded_at_ms IS NOT NULL`,
    [entries.map(({ id }) => id)],
  );
  return { exchange: record === undefined ? null : listedExchange(record), attempts, entries };
}

function searchTable(
  read: Query,
  filter: ExchangeQuery,
  table: SearchedTable,
  beforeId: number | undefined,
): Promise<CursorPage<ExchangeRow, number>> {
  const { limit, sinceMs, untilMs } = filter;
  const parameters = new Parameters();
  const isEntries = table === "entries";
  return searchRows<ExchangeRow>(
    read,
    {
      select: isEntries ? selectRecord : selectOutcome,
      conditions: [...conditionsOf(filter, table, parameters), outcomeOf(filter, table, parameters)],
      ...{ table, parameters, beforeId, limit, sinceMs, untilMs },
    },
    (row) => row.rowId,
  );
}

function outcomeOf({ outcome }: ExchangeQuery, table: SearchedTable, parameters: Parameters): string {
  if (table === "entries") return "entries.recorded_at_ms IS NOT NULL AND entries.outcome = 'completed'";
  return `exchange_endings.outcome ${outcome === undefined ? "<> 'completed'" : `= ${parameters.add(outcome)}`}`;
}

function conditionsOf(filter: ExchangeQuery, table: SearchedTable, parameters: Parameters): string[] {
  const { keyId, model, sinceMs, untilMs } = filter;
  const conditions: string[] = [];
  if (keyId !== undefined) conditions.push(`${table}.${ofKey(keyId, parameters)}`);
  if (model !== undefined) {
    const isServed = `${table}.model = ${parameters.add(model)}`;
    // The message goes on with names that are similar.
    const beginning = unknownModelMessage(model);
    const isUnknown = () =>
      `substr(exchange_endings.message, 1, ${[...beginning].length}) = ${parameters.add(beginning)}`;
    conditions.push(table === "entries" ? isServed : `(${isServed} OR ${isUnknown()})`);
  }
  for (const name of ["provider", "route", "code"] as const) {
    const value = filter[name];
    if (value !== undefined) conditions.push(`${table}.${name} = ${parameters.add(value)}`);
  }
  if (filter.search !== undefined) conditions.push(fitsSearch(filter.search, table, parameters));
  for (const [name, value] of Object.entries(filter.labels ?? {})) {
    conditions.push(`${sentLabel(table, name)} = ${parameters.add(value)}`);
  }
  if (sinceMs !== undefined) conditions.push(`${table}.at_ms >= ${parameters.add(sinceMs)}`);
  if (untilMs !== undefined) conditions.push(`${table}.at_ms < ${parameters.add(untilMs)}`);
  return conditions;
}

function fitsSearch(search: string, table: SearchedTable, parameters: Parameters): string {
  const ways = [`${table}.key_no IN (SELECT no FROM keys WHERE ${keyMatches(search, parameters)})`];
  if (table === "exchange_endings") {
    ways.push(`exchange_endings.code ILIKE ${parameters.add(partPattern(search))} ESCAPE '\\'`);
  }
  const [, tag, value] = /^([^=]+)=(.+)$/.exec(search) ?? [];
  if (tag !== undefined && value !== undefined) {
    ways.push(`${sentLabel(table, `tag:${tag}`)} = ${parameters.add(value)}`);
  }
  return `(${ways.join(" OR ")})`;
}

/** A usage record or a request-log row as a database returns it, under the same names. */
interface ExchangeRow extends Omit<ListedExchange, "usage" | "units" | "stream" | "labels">, Usage {
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

function listedExchange(row: ExchangeRow): ListedExchange {
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
