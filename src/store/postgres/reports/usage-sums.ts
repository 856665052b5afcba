import { msPerDay, msPerHour } from "../../../base/clock.ts";
import { figureNames } from "../../figures.ts";
import { figureColumnNames, figureColumns } from "../../reporting/figure-columns.ts";
import { bandOfColumn } from "../../reporting/latency-bands.ts";
import {
  isByKeyOverDays,
  latencySourceOf,
  usageSourceOf,
  wholeDays,
  wholeUnits,
} from "../../reporting/usage-source.ts";
import type {
  GroupFigures,
  GroupQuery,
  KeyDay,
  LatencyBand,
  StepFigures,
  StepQuery,
  TimeRange,
} from "../../reports.ts";
import type { Parameter, Query } from "../client.ts";

/**
 * The one place that reads figures for reports. Every answer is made of two parts, read in one statement: the sums that
 * were written, from the coarsest table that has the range, and the rows that they do not count yet.
 */

/** Every statement has these first: the range in units of its table and in milliseconds, and the key or NULL. */
const keyNo = "(SELECT no FROM keys WHERE id = $5::text)";
const [from, to, sinceMs, untilMs] = ["$1::int", "$2::int", "$3::int8", "$4::int8"];

export async function usageInSteps(query: Query, asked: StepQuery): Promise<readonly StepFigures[]> {
  const { table, column, unitMs } = usageSourceOf(asked);
  const rows = await query<Omit<StepFigures, "startMs"> & { step: number }>(
    `SELECT grouped::float8 AS step, ${summedFigures} FROM (
      SELECT ${column} / $6::int AS grouped, ${figureColumns} FROM ${table}
      WHERE ${column} >= ${from} AND ${column} < ${to} ${ofKey(asked)}
      UNION ALL
      SELECT (at_ms / $7::int8)::int AS grouped, ${figureColumns} FROM sluice_uncounted_usage()
      WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} ${ofKey(asked)}
    ) counted GROUP BY 1 ORDER BY 1`,
    [...rangeOf(asked, unitMs), asked.stepMs / unitMs, asked.stepMs],
  );
  return rows.map(({ step, ...figures }) => ({ startMs: step * asked.stepMs, ...figures }));
}

export function usageBy(
  query: Query,
  column: "model" | "provider" | "key",
  asked: GroupQuery,
): Promise<readonly GroupFigures[]> {
  if (isByKeyOverDays(column, asked)) return usageByKeyOverDays(query, asked);
  const { table, column: time, unitMs } = usageSourceOf(asked, column === "key");
  const grouped = column === "key" ? "key_no" : column;
  const name = column === "key" ? "(SELECT id FROM keys WHERE no = counted.grouped)" : "counted.grouped";
  return query<GroupFigures>(
    `SELECT ${name} AS "group", ${summedFigures} FROM (
      SELECT ${grouped} AS grouped, ${figureColumns} FROM ${table}
      WHERE ${time} >= ${from} AND ${time} < ${to} ${ofKey(asked)}
      UNION ALL
      SELECT ${grouped} AS grouped, ${figureColumns} FROM sluice_uncounted_usage()
      WHERE at_ms >= ${sinceMs} AND at_ms < ${untilMs} ${ofKey(asked)}
    ) counted GROUP BY grouped ${order(asked, name, "$6::int")}`,
    [...rangeOf(asked, unitMs), asked.largest ?? null],
  );
}

/** Whole days from the sums by day, the hours at both ends one by one. */
function usageByKeyOverDays(query: Query, asked: GroupQuery): Promise<readonly GroupFigures[]> {
  const { firstDay, endDay } = wholeDays(asked);
  return query<GroupFigures>(`${byKeyOverDays} ${order(asked, "keys.id", "$8::int")}`, [
    ...rangeOf(asked, msPerHour),
    firstDay,
    endDay,
    asked.largest ?? null,
  ]);
}

export function latencyInSteps(query: Query, asked: StepQuery): Promise<readonly LatencyBand[]> {
  const { table, column, unitMs } = latencySourceOf(asked);
  const uncounted = (measure: "first_byte" | "total") => `
      SELECT (at_ms / $7::int8)::int, '${measure}', ${bandOfColumn(`${measure}_ms`)}, 1 FROM sluice_uncounted_usage()
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

function rangeOf(range: TimeRange & { keyId?: string | undefined }, unitMs: number): Parameter[] {
  const whole = wholeUnits(range, unitMs);
  return [whole.from, whole.to, whole.sinceMs, whole.untilMs, range.keyId ?? null];
}

function ofKey({ keyId }: { keyId?: string | undefined }): string {
  return keyId === undefined ? "AND $5::text IS NULL" : `AND key_no = ${keyNo}`;
}

/** The limit is NULL, which means none, where all are asked for. Names are sorted as SQLite does it: by their bytes. */
function order({ largest }: GroupQuery, name: string, limit: string): string {
  const by =
    largest === undefined
      ? `${name} COLLATE "C"`
      : "sum(spend_nano) + sum(list_cost_nano) DESC, sum(requests) DESC";
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
