import { msPerDay } from "../../../base/clock.ts";
import { figureNames } from "../../figures.ts";
import { figureColumnNames, figureColumns } from "../../reporting/figure-columns.ts";
import { bandOfColumn } from "../../reporting/latency-bands.ts";
import {
  type GroupColumn,
  isByKeyOverDays,
  latencyTableOf,
  type SourceRange,
  sumTableOf,
  type UsageReader,
  wholeDays,
} from "../../reporting/usage-source.ts";
import type { GroupFigures, GroupQuery, KeyDay, LatencyBand, StepFigures, StepQuery } from "../../reports.ts";
import type { Parameter, Query } from "../client.ts";

/**
 * The one place that reads figures for reports. An answer is made of two parts, read in one statement: the sums that were
 * written, from the coarsest table that has the range, and the rows that they do not count yet. Or of rows alone: then
 * no unit of the sums is asked for.
 */
export function usageReader(query: Query): UsageReader {
  return {
    rowsAtOnceMs: Number.POSITIVE_INFINITY,
    inSteps: (asked) => usageInSteps(query, asked),
    by: (column, asked) => usageBy(query, column, asked),
    latencies: (asked) => latencyInSteps(query, asked),
  };
}

/** Every statement has these first: the range in units of its table and in milliseconds, and the key or NULL. */
const keyNo = "(SELECT no FROM keys WHERE id = $5::text)";
const [from, to, sinceMs, untilMs] = ["$1::int", "$2::int", "$3::int8", "$4::int8"];

async function usageInSteps(query: Query, asked: StepQuery & SourceRange): Promise<readonly StepFigures[]> {
  const { table, column, unitMs } = sumTableOf(asked) ?? anyTable;
  const rows = await query<Omit<StepFigures, "startMs"> & { step: number }>(
    `SELECT grouped::float8 AS step, ${summedFigures} FROM (
      SELECT ${column} / $6::int AS grouped, ${figureColumns} FROM ${table}
      WHERE ${column} >= ${from} AND ${column} < ${to} ${ofKey(asked)}
      UNION ALL
      SELECT (at_ms / $7::int8)::int AS grouped, ${figureColumns} FROM ${rowsOf(asked)}
      WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} ${ofKey(asked)}
    ) counted GROUP BY 1 ORDER BY 1`,
    [...rangeOf(asked, unitMs), asked.stepMs / unitMs, asked.stepMs],
  );
  return rows.map(({ step, ...figures }) => ({ startMs: step * asked.stepMs, ...figures }));
}

function usageBy(
  query: Query,
  column: GroupColumn,
  asked: GroupQuery & SourceRange,
): Promise<readonly GroupFigures[]> {
  if (isByKeyOverDays(column, asked)) return usageByKeyOverDays(query, asked);
  const { table, column: time, unitMs } = sumTableOf(asked, column === "key") ?? anyTable;
  const grouped = column === "key" ? "key_no" : column;
  const name = column === "key" ? "(SELECT id FROM keys WHERE no = counted.grouped)" : "counted.grouped";
  return query<GroupFigures>(
    `SELECT ${name} AS "group", ${summedFigures} FROM (
      SELECT ${grouped} AS grouped, ${figureColumns} FROM ${table}
      WHERE ${time} >= ${from} AND ${time} < ${to} ${ofKey(asked)}
      UNION ALL
      SELECT ${grouped} AS grouped, ${figureColumns} FROM ${rowsOf(asked)}
      WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} ${ofKey(asked)}
    ) counted GROUP BY grouped ${order(asked, name, "$6::int")}`,
    [...rangeOf(asked, unitMs), asked.largest ?? null],
  );
}

/** Whole days from the sums by day, the hours at both ends one by one. */
function usageByKeyOverDays(query: Query, asked: GroupQuery & SourceRange): Promise<readonly GroupFigures[]> {
  const { firstDay, endDay } = wholeDays(asked);
  return query<GroupFigures>(`${byKeyOverDays} ${order(asked, "keys.id", "$8::int")}`, [
    ...rangeOf(asked, (sumTableOf(asked, true) ?? anyTable).unitMs),
    firstDay,
    endDay,
    asked.largest ?? null,
  ]);
}

function latencyInSteps(query: Query, asked: StepQuery & SourceRange): Promise<readonly LatencyBand[]> {
  const { table, column, unitMs } = latencyTableOf(asked) ?? anyLatencies;
  const uncounted = (measure: "first_byte" | "total") => `
      SELECT (at_ms / $7::int8)::int, '${measure}', ${bandOfColumn(`${measure}_ms`)}, 1 FROM ${rowsOf(asked)}
      WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} AND ${measure}_count = 1`;
  return query<LatencyBand>(
    `SELECT (step * $7::int8)::float8 AS "startMs", measure, up_to_ms::float8 AS "upToMs",
      sum(requests)::float8 AS requests
    FROM (
      SELECT ${column} / $6::int AS step, measure, up_to_ms, requests
      FROM ${table} WHERE ${column} >= ${from} AND ${column} < ${to}
        AND $5::text IS NULL
      UNION ALL ${uncounted("first_byte")}
      UNION ALL ${uncounted("total")}
    ) counted GROUP BY step, measure, up_to_ms ORDER BY step, measure, up_to_ms`,
    [...rangeOf({ ...asked, keyId: undefined }, unitMs), asked.stepMs / unitMs, asked.stepMs],
  );
}

export function keyDays(
  query: Query,
  keyIds: readonly string[],
  fromDay: number,
  throughDay: number,
): Promise<readonly KeyDay[]> {
  return query<KeyDay>(
    `SELECT keys.id AS "keyId", day, sum(spend_nano)::float8 AS "spendNano", sum(spend_tokens)::float8 AS "spendTokens"
    FROM (
      SELECT key_no, day, spend_nano, spend_tokens FROM usage_key_days
      UNION ALL
      SELECT key_no, (at_ms / ${msPerDay})::int, spend_nano, spend_tokens FROM sluice_uncounted_usage()
    ) days JOIN keys ON keys.no = days.key_no
    WHERE keys.id = ANY ($1::text[]) AND day BETWEEN $2::int AND $3::int GROUP BY 1, 2`,
    [keyIds, fromDay, throughDay],
  );
}

export async function keyLastDays(
  query: Query,
  keyIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await query<{ keyId: string; day: number | null }>(
    `WITH uncounted AS MATERIALIZED (SELECT key_no, at_ms FROM sluice_uncounted_usage())
    SELECT keys.id AS "keyId", greatest(
      (SELECT max(day) FROM usage_key_days WHERE key_no = keys.no),
      (SELECT max(at_ms / ${msPerDay})::int FROM uncounted WHERE key_no = keys.no)) AS day
    FROM keys WHERE keys.id = ANY ($1::text[])`,
    [keyIds],
  );
  return new Map(rows.flatMap(({ keyId, day }) => (day === null ? [] : [[keyId, day] as const])));
}

function rangeOf({ source, sinceMs, untilMs, keyId }: GroupQuery & SourceRange, unitMs: number): Parameter[] {
  const units = source === "rows" ? [0, 0] : [sinceMs / unitMs, untilMs / unitMs];
  return [...units, sinceMs, untilMs, keyId ?? null];
}

/** Where rows alone are read, nothing is read from these. */
const anyTable = { table: "usage_minutes", column: "minute", unitMs: 60_000 } as const;
const anyLatencies = { ...anyTable, table: "latency_minutes" } as const;

function rowsOf({ source }: SourceRange): string {
  return source === "rows" ? "usage_rows" : "sluice_uncounted_usage()";
}

function ofKey({ keyId }: { keyId?: string | undefined }): string {
  return keyId === undefined ? "AND $5::text IS NULL" : `AND key_no = ${keyNo}`;
}

/** The limit is NULL, which means none, where all are asked for. Names are sorted as SQLite does it: by their bytes. */
function order({ largest }: GroupQuery, name: string, limit: string): string {
  const by =
    largest === undefined
      ? `${name} COLLATE "C"`
      : "coalesce(nullif(sum(spend_nano), 0), sum(list_cost_nano)) DESC, sum(requests) DESC";
  return `ORDER BY ${by} LIMIT ${limit}`;
}

const summedFigures = figureNames
  .map((name, place) => `sum(${figureColumnNames[place]})::float8 AS "${name}"`)
  .join(", ");

const byKeyOverDays = `
SELECT keys.id AS "group", ${summedFigures} FROM (
  SELECT key_no, ${figureColumns} FROM usage_key_days WHERE day >= $6::int AND day < $7::int
  UNION ALL
  SELECT key_no, ${figureColumns} FROM usage_key_hours
  WHERE hour >= ${from} AND hour < ${to} AND (hour < $6::int * 24 OR hour >= $7::int * 24)
  UNION ALL
  SELECT key_no, ${figureColumns} FROM sluice_uncounted_usage()
  WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} AND $5::text IS NULL
) counted JOIN keys ON keys.no = counted.key_no GROUP BY keys.id`;
