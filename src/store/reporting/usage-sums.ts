import { msPerHour } from "../../base/clock.ts";
import { Parameters, type Queries } from "../query.ts";
import type { GroupFigures, GroupQuery, LatencyBand, StepFigures, StepQuery } from "../reports.ts";
import { figureColumns, summedFigures } from "./figure-columns.ts";
import { bandOfColumn } from "./latency-bands.ts";
import { ofKey } from "./row-search.ts";
import {
  type GroupColumn,
  isByKeyOverDays,
  latencyTableOf,
  type SourceRange,
  type SumTable,
  sumTableOf,
  wholeDays,
} from "./usage-source.ts";

/**
 * The one place that reads figures for reports, of ranges that one source has all of. An answer is made of two parts, read
 * in one statement: the sums that were written, from the coarsest table that has the range, and the rows that they do not
 * count yet. Or of rows alone.
 */
export class UsageSums {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  async inSteps(query: StepQuery & SourceRange): Promise<readonly StepFigures[]> {
    const { stepMs } = query;
    const parameters = new Parameters();
    const counted = countedRows(query, sumTableOf(query), parameters, (time, unitMs) => [
      `SELECT ${time} / ${parameters.add(stepMs / unitMs)} AS step, ${figureColumns}`,
    ]);
    const rows = await this.#queries.read<Omit<StepFigures, "startMs"> & { step: number }>(
      `SELECT step::float8 AS step, ${summedFigures} FROM (${counted}) counted GROUP BY step ORDER BY step`,
      parameters.all,
    );
    return rows.map(({ step, ...figures }) => ({ startMs: step * stepMs, ...figures }));
  }

  by(column: GroupColumn, query: GroupQuery & SourceRange): Promise<readonly GroupFigures[]> {
    if (isByKeyOverDays(column, query)) return this.#byKeyOverDays(query);
    const grouped = column === "key" ? "key_no" : column;
    const name = column === "key" ? "(SELECT id FROM keys WHERE no = grouped)" : "grouped";
    const parameters = new Parameters();
    const counted = countedRows(query, sumTableOf(query, column === "key"), parameters, () => [
      `SELECT ${grouped} AS grouped, ${figureColumns}`,
    ]);
    return this.#queries.read<GroupFigures>(
      `SELECT ${name} AS "group", ${summedFigures} FROM (${counted}) counted
      GROUP BY grouped ${largestFirst(query, parameters)}`,
      parameters.all,
    );
  }

  latencies(query: StepQuery & SourceRange): Promise<readonly LatencyBand[]> {
    const { stepMs } = query;
    const parameters = new Parameters();
    const everyKey = { ...query, keyId: undefined };
    const counted = countedRows(everyKey, latencyTableOf(query), parameters, (time, unitMs) => {
      const step = `SELECT ${time} / ${parameters.add(stepMs / unitMs)} AS step`;
      if (unitMs > 1) return [`${step}, measure, up_to_ms, requests`];
      return ["first_byte", "total"].map(
        (measure) =>
          `${step}, '${measure}' AS measure, ${bandOfColumn(`${measure}_ms`)} AS up_to_ms, ${measure}_count AS requests`,
      );
    });
    const startMs = `(step * ${parameters.add(stepMs)})::float8`;
    return this.#queries.read<LatencyBand>(
      `SELECT ${startMs} AS "startMs", measure, up_to_ms::float8 AS "upToMs",
        sum(requests)::float8 AS requests
      FROM (${counted}) counted WHERE requests > 0 GROUP BY step, measure, up_to_ms`,
      parameters.all,
    );
  }

  /** Whole days from the sums by day, the hours at both ends one by one; key by key, so that nothing need be sorted. */
  async #byKeyOverDays(query: GroupQuery & SourceRange): Promise<readonly GroupFigures[]> {
    const { read, pace } = this.#queries;
    const [newest] = await read<{ no: number | null }>("SELECT max(no) AS no FROM keys");
    const groups: GroupFigures[] = [];
    for (let first = 1; first <= (newest?.no ?? 0); first += pace.keysPerPiece) {
      const parameters = new Parameters();
      const counted = daysOfKeys(query, [first, first + pace.keysPerPiece - 1], parameters);
      groups.push(
        ...(await read<GroupFigures>(
          `SELECT (SELECT id FROM keys WHERE no = key_no) AS "group", ${summedFigures} FROM (${counted}) counted
          GROUP BY key_no ${largestFirst(query, parameters)}`,
          parameters.all,
        )),
      );
      await Bun.sleep(0);
    }
    return groups;
  }
}

/**
 * What a report adds up. `select` returns what to select from a table, for the name of its time and its unit. The rows that the sums do
 * not count yet have a time in milliseconds.
 */
function countedRows(
  query: (StepQuery | GroupQuery) & SourceRange,
  sums: SumTable | null,
  parameters: Parameters,
  select: (time: string, unitMs: number) => readonly string[],
): string {
  const { sinceMs, untilMs, keyId } = query;
  const key = keyId === undefined ? "" : ` AND ${ofKey(keyId, parameters)}`;
  const within = (table: string, time: string, unitMs: number) => {
    const [from, to] = [parameters.add(sinceMs / unitMs), parameters.add(untilMs / unitMs)];
    const where = `FROM ${table} WHERE ${time} >= ${from} AND ${time} < ${to}${key}`;
    return select(time, unitMs).map((columns) => `${columns} ${where}`);
  };
  const rows = within(query.source === "rows" ? "usage_rows" : "sluice_uncounted_usage()", "at_ms", 1);
  return [...(sums === null ? [] : within(sums.table, sums.column, sums.unitMs)), ...rows].join(
    " UNION ALL ",
  );
}

function daysOfKeys(
  { sinceMs, untilMs }: SourceRange,
  [firstKey, lastKey]: readonly [number, number],
  parameters: Parameters,
): string {
  const { firstDay, endDay } = wholeDays({ sinceMs, untilMs });
  const keys = `BETWEEN ${parameters.add(firstKey)} AND ${parameters.add(lastKey)}`;
  const sums = (unit: "day" | "hour", from: number, to: number) =>
    `SELECT key_no, ${figureColumns} FROM keys CROSS JOIN usage_key_${unit}s WHERE keys.no ${keys} AND key_no = keys.no
      AND ${unit} >= ${parameters.add(from)} AND ${unit} < ${parameters.add(to)}`;
  const [fromHour, toHour] = [sinceMs / msPerHour, untilMs / msPerHour];
  return [
    sums("day", firstDay, endDay),
    sums("hour", fromHour, Math.min(toHour, firstDay * 24)),
    sums("hour", endDay * 24, toHour),
    `SELECT key_no, ${figureColumns} FROM sluice_uncounted_usage()
      WHERE key_no ${keys} AND at_ms >= ${parameters.add(sinceMs)} AND at_ms < ${parameters.add(untilMs)}`,
  ].join(" UNION ALL ");
}

/** Whoever wants all of them sorts them too. */
function largestFirst({ largest }: GroupQuery, parameters: Parameters): string {
  if (largest === undefined) return "";
  const spend = "coalesce(nullif(sum(spend_nano), 0), sum(list_cost_nano))";
  return `ORDER BY ${spend} DESC, sum(requests) DESC LIMIT ${parameters.add(largest)}`;
}
