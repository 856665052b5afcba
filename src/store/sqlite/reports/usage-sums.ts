import type { Database } from "bun:sqlite";
import { msPerHour } from "../../../base/clock.ts";
import { figureColumns, summedFigures } from "../../reporting/figure-columns.ts";
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
  LatencyBand,
  StepFigures,
  StepQuery,
  TimeRange,
} from "../../reports.ts";
import { patiently } from "../connection.ts";

type Parameters = Record<string, string | number>;

/** Keys summed up before yielding: a month of them takes about 10 ms. */
const keysPerPiece = 200;

/**
 * The one place that reads figures for reports. Every answer is made of two parts: the sums that were written, from the
 * coarsest table that has the range, and the rows that they do not count yet.
 */
export class UsageSums {
  readonly #database: Database;
  readonly #patienceMs: number;

  constructor(database: Database, patienceMs: number) {
    this.#database = database;
    this.#patienceMs = patienceMs;
  }

  async inSteps(query: StepQuery): Promise<readonly StepFigures[]> {
    const { table, column, unitMs } = usageSourceOf(query);
    const rows = await this.#all<Omit<StepFigures, "startMs"> & { step: number }>(
      `SELECT grouped AS step, ${summedFigures} FROM (
        SELECT ${column} / $unitsPerStep AS grouped, ${figureColumns} FROM ${table}
        WHERE ${column} >= $from AND ${column} < $to ${ofKey(query)}
        UNION ALL
        SELECT at_ms / $stepMs AS grouped, ${figureColumns} FROM uncounted_usage
        WHERE at_ms >= $sinceMs AND at_ms < $untilMs ${ofKey(query)}
      ) GROUP BY 1 ORDER BY 1`,
      { ...rangeOf(query, unitMs), unitsPerStep: query.stepMs / unitMs, stepMs: query.stepMs },
    );
    return rows.map(({ step, ...figures }) => ({ startMs: step * query.stepMs, ...figures }));
  }

  by(column: "model" | "provider" | "key", query: GroupQuery): Promise<readonly GroupFigures[]> {
    if (isByKeyOverDays(column, query)) return this.#byKeyOverDays(query);
    const { table, column: time, unitMs } = usageSourceOf(query, column === "key");
    const grouped = column === "key" ? "key_no" : column;
    const name = column === "key" ? "(SELECT id FROM keys WHERE no = grouped)" : "grouped";
    return this.#all<GroupFigures>(
      `SELECT ${name} AS "group", ${summedFigures} FROM (
        SELECT ${grouped} AS grouped, ${figureColumns} FROM ${table}
        WHERE ${time} >= $from AND ${time} < $to ${ofKey(query)}
        UNION ALL
        SELECT ${grouped} AS grouped, ${figureColumns} FROM uncounted_usage
        WHERE at_ms >= $sinceMs AND at_ms < $untilMs ${ofKey(query)}
      ) GROUP BY grouped ${order(query)}`,
      { ...rangeOf(query, unitMs), ...limitOf(query) },
    );
  }

  latencies(query: StepQuery): Promise<readonly LatencyBand[]> {
    const { table, column, unitMs } = latencySourceOf(query);
    const uncounted = (measure: "first_byte" | "total") => `
        SELECT at_ms / $stepMs, '${measure}', ${bandOfColumn(`${measure}_ms`)}, 1 FROM uncounted_usage
        WHERE at_ms >= $sinceMs AND at_ms < $untilMs AND ${measure}_count = 1`;
    return this.#all<LatencyBand>(
      `SELECT step * $stepMs AS startMs, measure, upToMs, sum(requests) AS requests FROM (
        SELECT ${column} / $unitsPerStep AS step, measure, up_to_ms AS upToMs, requests
        FROM ${table} WHERE ${column} >= $from AND ${column} < $to
        UNION ALL ${uncounted("first_byte")}
        UNION ALL ${uncounted("total")}
      ) GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
      { ...rangeOf(query, unitMs), unitsPerStep: query.stepMs / unitMs, stepMs: query.stepMs },
    );
  }

  /** Whole days from the sums by day, the hours at both ends one by one; key by key, so that nothing need be sorted. */
  async #byKeyOverDays(query: GroupQuery): Promise<readonly GroupFigures[]> {
    const { firstDay, endDay } = wholeDays(query);
    const parameters = {
      ...rangeOf(query, msPerHour),
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
    return groups.sort((a, b) => worth(b) - worth(a) || b.requests - a.requests).slice(0, query.largest);
  }

  #all<Row>(sql: string, parameters: Parameters): Promise<readonly Row[]> {
    return patiently(this.#patienceMs, () => this.#database.query<Row, Parameters>(sql).all(parameters));
  }
}

function rangeOf(range: TimeRange & { keyId?: string | undefined }, unitMs: number) {
  const { keyId } = range;
  return { ...wholeUnits(range, unitMs), ...(keyId === undefined ? {} : { keyId }) };
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
    : ' ORDER BY "spendNano" + "listCostNano" DESC, "requests" DESC LIMIT $largest';
}

function worth({ spendNano, listCostNano }: GroupFigures): number {
  return spendNano + listCostNano;
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
