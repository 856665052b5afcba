import { msPerDay, msPerHour } from "../../base/clock.ts";
import { mapInTurns } from "../../base/loop/in-turns.ts";
import { Parameters, type Query } from "../query.ts";
import type {
  GroupPage,
  GroupPageQuery,
  LatencyBand,
  SeriesQuery,
  SeriesTotals,
  StepQuery,
  TimeRange,
} from "../reports.ts";
import { totalNames, type UsageTotals } from "../usage-totals.ts";
import { type Detail, type Dimension, type TimeColumn, timeSteps } from "./dimensions.ts";
import { sentLabel } from "./label-column.ts";
import { bandOfColumn } from "./latency-bands.ts";
import { ofKey } from "./row-search.ts";
import { namedTotals, summedColumns, summedTotals, totalColumns } from "./total-columns.ts";
import { partsOf, type SourceRange } from "./usage-source.ts";

/** The order of groups: by name, by spend plus list cost, or by spend and, without any, list cost. */
type GroupOrder = GroupPageQuery["order"] | "spend";

export type SummedQuery = Omit<GroupPageQuery, "order"> & { readonly order: GroupOrder };

/** The first row has the totals of all groups. */
type GroupRow = UsageTotals &
  Readonly<Record<`group${number}`, string | number | null>> & { readonly groups: number };

const rows: TimeColumn = { column: "at_ms", unitMs: 1 };
const hours: TimeColumn = { column: "hour", unitMs: msPerHour };

/**
 * A page of the groups of a range, and the total of all of them, in one statement. Rows that the totals by the hour do
 * not include yet are added, so the result is exact at any moment.
 */
export async function groupedUsage(
  read: Query,
  dimensions: readonly Dimension[],
  query: SummedQuery,
): Promise<GroupPage> {
  const { order, skip, limit, signal } = query;
  signal?.throwIfAborted();
  const parameters = new Parameters();
  const names = dimensions.map((_, place) => `group${place}`);
  const columnsOf = (time: TimeColumn) => {
    const values = dimensions.map((dimension, place) => `${groupValue(dimension, time)} AS ${names[place]}`);
    return [[...values, totalColumns].join(", ")];
  };
  const shown = dimensions.map(
    ({ shown }, place) => `${shown?.(`group${place}`) ?? `group${place}`} AS group${place}`,
  );
  const counted = countedRows(query, detailsOf(dimensions, query), parameters, "usage_hours", columnsOf);
  const through = Number.isFinite(limit) ? ` AND place <= ${parameters.add(skip + limit)}` : "";
  const [total, ...page] = await read<GroupRow>(
    `WITH summed AS MATERIALIZED (SELECT ${[...names, summedColumns].join(", ")} FROM (${counted}) counted GROUP BY ${names.join(", ")}),
    shown AS (SELECT ${[...shown, totalColumns].join(", ")} FROM summed),
    placed AS (SELECT shown.*, row_number() OVER (ORDER BY ${placeOf(order, dimensions)}) AS place FROM shown)
    SELECT 0::int8 AS place, count(*)::float8 AS groups, ${names.map((name) => `NULL AS ${name}, `).join("")}${summedTotals} FROM summed
    UNION ALL
    SELECT place, 0, ${[...names, namedTotals].join(", ")} FROM placed WHERE place > ${parameters.add(skip)}${through} ORDER BY place`,
    parameters.all,
  );
  const shownOf = (row: GroupRow) => ({
    ...totalsOf(row),
    groups: dimensions.map((dimension, place) => textOf(dimension, row[`group${place}`])),
  });
  const groups = await mapInTurns(page, shownOf);
  return { groups, count: total?.groups ?? 0, total: totalsOf(total) };
}

/** The totals of some groups step by step. Rows of other groups, which can be thousands, are not added up. */
export async function usageSeries(
  read: Query,
  dimensions: readonly Dimension[],
  { step, series, ...query }: SeriesQuery,
): Promise<readonly SeriesTotals[]> {
  query.signal?.throwIfAborted();
  if (series.length === 0) return [];
  const parameters = new Parameters();
  const stepMs = step === "hour" ? msPerHour : msPerDay;
  const time = timeSteps(stepMs, String);
  const places = series.map((values, place) => {
    const whole = values.map((value, at) => {
      const shown = parameters.add(value ?? "");
      return dimensions[at]?.stored?.(shown) ?? shown;
    });
    return `WHEN ${joined(whole)} THEN ${place}`;
  });
  const columnsOf = (column: TimeColumn) => {
    const values = dimensions.map(({ of, stored }) =>
      stored === undefined ? `coalesce(${of(column)}, '')` : of(column),
    );
    const place = `CASE ${joined(values)} ${places.join(" ")} END`;
    return [`${time.of(column)} AS step, ${place} AS place, ${totalColumns}`];
  };
  const details = detailsOf([time, ...dimensions], query);
  const counted = countedRows(query, details, parameters, "usage_hours", columnsOf);
  const rows = await read<UsageTotals & { readonly step: number; readonly place: number }>(
    `SELECT step::float8 AS step, place::float8 AS place, ${summedTotals} FROM (${counted}) counted
    WHERE place IS NOT NULL GROUP BY step, place ORDER BY step, place`,
    parameters.all,
  );
  return rows.map((row) => ({ ...totalsOf(row), startMs: row.step * stepMs, place: row.place }));
}

/** One text from several values. Values have no control characters. */
function joined(values: readonly string[]): string {
  return values.map((value) => `${value}::text`).join(" || '\u001f' || ");
}

/** Number of requests by step and latency band. */
export function latencyBands(read: Query, { stepMs, ...range }: StepQuery): Promise<readonly LatencyBand[]> {
  const parameters = new Parameters();
  const step = ({ column, unitMs }: TimeColumn) => `${column} / ${stepMs / unitMs} AS step`;
  const columnsOf = (time: TimeColumn) =>
    time === hours
      ? [`${step(time)}, measure, up_to_ms, requests`]
      : (["first_byte", "total"] as const).map(
          (measure) =>
            `${step(time)}, '${measure}' AS measure, ${bandOfColumn(`${measure}_ms`)} AS up_to_ms, ${measure}_count AS requests`,
        );
  const details = new Set(timeSteps(stepMs, String).needs);
  const counted = countedRows(range, details, parameters, "latency_hours", columnsOf);
  return read<LatencyBand>(
    `SELECT (step * ${parameters.add(stepMs)})::float8 AS "startMs", measure, up_to_ms::float8 AS "upToMs", sum(requests)::float8 AS requests
    FROM (${counted}) counted WHERE requests > 0 GROUP BY step, measure, up_to_ms ORDER BY step, measure, up_to_ms`,
    parameters.all,
  );
}

function detailsOf(
  dimensions: readonly Dimension[],
  { keyId, accountId, session }: Omit<CountedQuery, keyof TimeRange>,
): ReadonlySet<Detail> {
  const details = new Set<Detail>(dimensions.flatMap(({ needs }) => needs));
  if (keyId !== undefined) details.add("key");
  if (accountId !== undefined || session !== undefined) details.add("row");
  return details;
}

type CountedQuery = Pick<SummedQuery, "sinceMs" | "untilMs" | "keyId" | "accountId" | "session">;

/**
 * Selects the rows that a report adds up, from the totals by the hour if these have the details. `columnsOf` returns
 * the select lists for a table, given its time column.
 */
function countedRows(
  query: CountedQuery,
  details: ReadonlySet<Detail>,
  parameters: Parameters,
  totals: "usage_hours" | "latency_hours",
  columnsOf: (time: TimeColumn) => readonly string[],
): string {
  const { keyId, accountId, session } = query;
  const ofThatKey = keyId === undefined ? "" : ` AND ${ofKey(keyId, parameters)}`;
  const ofThatAccount =
    accountId === undefined
      ? ""
      : ` AND account_no = (SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
  const ofThatSession =
    session === undefined ? "" : ` AND ${sentLabel("usage_rows", "session")} = ${parameters.add(session)}`;
  const select = (
    table: string,
    time: TimeColumn,
    { sinceMs, untilMs }: SourceRange,
    also: string,
    column = time.column,
  ) => {
    const [from, to] = [sinceMs, untilMs].map((ms) => parameters.add(ms / time.unitMs));
    return columnsOf(time).map(
      (columns) => `SELECT ${columns} FROM ${table} WHERE ${column} >= ${from} AND ${column} < ${to}${also}`,
    );
  };
  const fromTotals = (part: SourceRange) => {
    if (totals === "latency_hours") return select(totals, hours, part, "");
    if (keyId !== undefined) return select(totals, hours, part, ofThatKey);
    if (!details.has("key")) return select(totals, hours, part, " AND key_no = 0");
    // Key by key, because the table is ordered by key and then by time. No other column of keys is visible, so none is ambiguous.
    const eachKey = `(SELECT no AS picked_no FROM keys WHERE no > 0) AS picked CROSS JOIN ${totals}`;
    return select(eachKey, hours, part, " AND key_no = picked.picked_no");
  };
  const counted = partsOf(query, details).flatMap((part) => {
    if (part.source === "hours") {
      // The plus sign keeps SQLite from using the index on time: few rows are uncounted.
      return [...fromTotals(part), ...select("uncounted_usage", rows, part, ofThatKey, "+at_ms")];
    }
    // In a short range the index on time finds fewer rows than the one on keys.
    const isShort = part.untilMs - part.sinceMs <= msPerDay;
    const key = isShort ? ofThatKey.replace("key_no", "+key_no") : ofThatKey;
    return select("usage_rows", rows, part, key + ofThatAccount + ofThatSession);
  });
  if (counted.length > 0) return counted.join(" UNION ALL ");
  return columnsOf(rows)
    .map((columns) => `SELECT ${columns} FROM usage_rows WHERE false`)
    .join(" UNION ALL ");
}

/** An empty text becomes null, so that both are one group. Numbers have another way to be shown. */
function groupValue({ of, shown }: Dimension, time: TimeColumn): string {
  return shown === undefined ? `nullif(${of(time)}, '')` : of(time);
}

/** Ties are ordered by name, so that pages fit together. Groups without a name come first. */
function placeOf(order: GroupOrder, dimensions: readonly Dimension[]): string {
  const byName = dimensions.map(({ text }, place) =>
    text === undefined ? `group${place} COLLATE "C" NULLS FIRST` : `group${place} NULLS FIRST`,
  );
  if (order === "name") return byName.join(", ");
  const worth =
    order === "worth"
      ? "spend_nano + list_cost_nano"
      : "CASE WHEN spend_nano = 0 THEN list_cost_nano ELSE spend_nano END";
  return [`${worth} DESC, requests DESC`, ...byName].join(", ");
}

function textOf({ text }: Dimension, value: string | number | null | undefined): string | null {
  if (value === null || value === undefined) return null;
  return text === undefined ? String(value) : text(value);
}

function totalsOf(row: UsageTotals | undefined): UsageTotals {
  // Safe cast: the keys are exactly the listed names. A sum of no rows is null.
  return Object.fromEntries(totalNames.map((name) => [name, row?.[name] ?? 0])) as UsageTotals;
}
