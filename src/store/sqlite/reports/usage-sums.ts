import type { Database } from "bun:sqlite";
import { msPerMinute } from "../../../base/clock.ts";
import { spendOf } from "../../reporting/exact-usage.ts";
import { figureColumns, summedFigures } from "../../reporting/figure-columns.ts";
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
import type { GroupFigures, GroupQuery, LatencyBand, StepFigures, StepQuery } from "../../reports.ts";
import { patiently } from "../connection.ts";

type Parameters = Record<string, string | number>;

/** Keys summed up before yielding: a month of them takes about 10 ms. */
const keysPerPiece = 200;

/** Rows of a few minutes take some milliseconds. */
const rowsAtOnceMs = 5 * msPerMinute;

/**
 * The one place that reads figures for reports. An answer is made of two parts: the sums that were written, from the
 * coarsest table that has the range, and the rows that they do not count yet. Or of rows alone.
 */
export class UsageSums implements UsageReader {
  readonly rowsAtOnceMs = rowsAtOnceMs;
  readonly #database: Database;
  readonly #timeoutMs: number;

  constructor(database: Database, timeoutMs: number) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  async inSteps(query: StepQuery & SourceRange): Promise<readonly StepFigures[]> {
    const sums = sumTableOf(query);
    const summed =
      sums &&
      `SELECT ${sums.column} / $unitsPerStep AS grouped, ${figureColumns} FROM ${sums.table} ${within(sums, query)}`;
    const rows = await this.#all<Omit<StepFigures, "startMs"> & { step: number }>(
      `SELECT grouped AS step, ${summedFigures} FROM (
        ${withSums(summed, `SELECT at_ms / $stepMs AS grouped, ${figureColumns} FROM ${rowsOf(query)} ${inTime(query)}`)}
      ) GROUP BY 1 ORDER BY 1`,
      { ...rangeOf(query, sums), ...stepsOf(query, sums) },
    );
    return rows.map(({ step, ...figures }) => ({ startMs: step * query.stepMs, ...figures }));
  }

  by(column: GroupColumn, query: GroupQuery & SourceRange): Promise<readonly GroupFigures[]> {
    if (isByKeyOverDays(column, query)) return this.#byKeyOverDays(query);
    const sums = sumTableOf(query, column === "key");
    const grouped = column === "key" ? "key_no" : column;
    const name = column === "key" ? "(SELECT id FROM keys WHERE no = grouped)" : "grouped";
    const figures = `SELECT ${grouped} AS grouped, ${figureColumns}`;
    const summed = sums && `${figures} FROM ${sums.table} ${within(sums, query)}`;
    return this.#all<GroupFigures>(
      `SELECT ${name} AS "group", ${summedFigures} FROM (
        ${withSums(summed, `${figures} FROM ${rowsOf(query)} ${inTime(query)}`)}
      ) GROUP BY grouped ${order(query)}`,
      { ...rangeOf(query, sums), ...limitOf(query) },
    );
  }

  latencies(query: StepQuery & SourceRange): Promise<readonly LatencyBand[]> {
    const sums = latencyTableOf(query);
    const rows = (measure: "first_byte" | "total") => `
        SELECT at_ms / $stepMs AS step, '${measure}' AS measure, ${bandOfColumn(`${measure}_ms`)} AS upToMs, 1 AS requests
        FROM ${rowsOf(query)} WHERE at_ms >= $sinceMs AND at_ms < $untilMs AND ${measure}_count = 1`;
    const summed =
      sums &&
      `SELECT ${sums.column} / $unitsPerStep AS step, measure, up_to_ms AS upToMs, requests
        FROM ${sums.table} WHERE ${sums.column} >= $from AND ${sums.column} < $to`;
    return this.#all<LatencyBand>(
      `SELECT step * $stepMs AS startMs, measure, upToMs, sum(requests) AS requests FROM (
        ${withSums(summed, `${rows("first_byte")} UNION ALL ${rows("total")}`)}
      ) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      { ...rangeOf({ ...query, keyId: undefined }, sums), ...stepsOf(query, sums) },
    );
  }

  /** Whole days from the sums by day, the hours at both ends one by one; key by key, so that nothing need be sorted. */
  async #byKeyOverDays(query: GroupQuery & SourceRange): Promise<readonly GroupFigures[]> {
    const { firstDay, endDay } = wholeDays(query);
    const parameters = {
      ...rangeOf(query, sumTableOf(query, true)),
      ...limitOf(query),
      firstDay,
      endDay,
      firstWholeHour: firstDay * 24,
      endWholeHour: endDay * 24,
    };
    const [newest] = await this.#all<{ no: number | null }>("SELECT max(no) AS no FROM keys", {});
    const groups: GroupFigures[] = [];
    for (let first = 1; first <= (newest?.no ?? 0); first += keysPerPiece) {
      const piece = { ...parameters, firstKey: first, lastKey: first + keysPerPiece - 1 };
      groups.push(...(await this.#all<GroupFigures>(keysOfPiece + order(query), piece)));
      await Bun.sleep(0);
    }
    if (query.largest === undefined) return groups.sort((a, b) => (a.group < b.group ? -1 : 1));
    return groups.sort((a, b) => spendOf(b) - spendOf(a) || b.requests - a.requests).slice(0, query.largest);
  }

  #all<Row>(sql: string, parameters: Parameters): Promise<readonly Row[]> {
    return patiently(this.#timeoutMs, () => this.#database.query<Row, Parameters>(sql).all(parameters));
  }
}

type SumTable = ReturnType<typeof sumTableOf>;

/** The range in milliseconds, and in units of the table. */
function rangeOf({ sinceMs, untilMs, keyId }: GroupQuery & SourceRange, sums: SumTable): Parameters {
  return {
    sinceMs,
    untilMs,
    ...(sums === null ? {} : { from: sinceMs / sums.unitMs, to: untilMs / sums.unitMs }),
    ...(keyId === undefined ? {} : { keyId }),
  };
}

function stepsOf({ stepMs }: StepQuery, sums: SumTable): Parameters {
  return { stepMs, ...(sums === null ? {} : { unitsPerStep: stepMs / sums.unitMs }) };
}

function within({ column }: NonNullable<SumTable>, query: GroupQuery): string {
  return `WHERE ${column} >= $from AND ${column} < $to ${ofKey(query)}`;
}

function inTime(query: GroupQuery): string {
  return `WHERE at_ms >= $sinceMs AND at_ms < $untilMs ${ofKey(query)}`;
}

function rowsOf({ source }: SourceRange): string {
  return source === "rows" ? "usage_rows" : "uncounted_usage";
}

function withSums(summed: string | null, rows: string): string {
  return summed === null ? rows : `${summed} UNION ALL ${rows}`;
}

function ofKey({ keyId }: { keyId?: string | undefined }): string {
  return keyId === undefined ? "" : "AND key_no = (SELECT no FROM keys WHERE id = $keyId)";
}

function limitOf({ largest }: GroupQuery): Parameters {
  return largest === undefined ? {} : { largest };
}

function order({ largest }: GroupQuery): string {
  return largest === undefined
    ? " ORDER BY 1"
    : ' ORDER BY coalesce(nullif("spendNano", 0), "listCostNano") DESC, "requests" DESC LIMIT $largest';
}

const keysOfPiece = `
SELECT (SELECT id FROM keys WHERE no = grouped) AS "group", ${summedFigures} FROM (
  SELECT key_no AS grouped, ${figureColumns}
  FROM keys CROSS JOIN usage_key_days ON key_no = keys.no AND day >= $firstDay AND day < $endDay
  WHERE keys.no BETWEEN $firstKey AND $lastKey
  UNION ALL
  SELECT key_no, ${figureColumns}
  FROM keys CROSS JOIN usage_key_hours ON key_no = keys.no AND hour >= $from AND hour < min($to, $firstWholeHour)
  WHERE keys.no BETWEEN $firstKey AND $lastKey
  UNION ALL
  SELECT key_no, ${figureColumns}
  FROM keys CROSS JOIN usage_key_hours ON key_no = keys.no AND hour >= max($firstWholeHour, $endWholeHour) AND hour < $to
  WHERE keys.no BETWEEN $firstKey AND $lastKey
  UNION ALL
  SELECT key_no, ${figureColumns} FROM uncounted_usage
  WHERE key_no BETWEEN $firstKey AND $lastKey AND at_ms >= $sinceMs AND at_ms < $untilMs
) GROUP BY grouped`;
