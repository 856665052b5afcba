import { nextLoopIteration } from "../../base/loop/next-iteration.ts";
import { Parameters, type Queries } from "../query.ts";
import type { LatencyBand, UsageFilter } from "../reports.ts";
import type { Detail, Dimension } from "./dimensions.ts";
import type { GroupedRow } from "./group-sums.ts";
import { bandOfColumn } from "./latency-bands.ts";
import { bySums, byTime } from "./pieces-of-time.ts";
import { ofKey } from "./row-search.ts";
import { summedTotals, totalColumns } from "./total-columns.ts";
import { latencyTableOf, type SourceRange, type SumTable, sumTableOf } from "./usage-source.ts";

/** Keys in the first piece. Later pieces grow or shrink with the time they take. */
const firstKeys = 100;
const minKeys = 20;
const maxGrowth = 4;
/** Groups added up per iteration of the event loop: 2 ms. */
const rowsPerTurn = 500;

/** A query over one part of a range. */
export interface SummedQuery extends UsageFilter {
  readonly dimensions: readonly Dimension[];
  readonly details: ReadonlySet<Detail>;
}

/** A range of key numbers, both ends included. */
type KeyRange = readonly [first: number, last: number];

/**
 * The one place that reads totals for reports, over ranges that one source covers. A result combines two parts, read
 * in one statement: written totals, from the coarsest table that covers the range, and the rows that they do not
 * include yet. Or it consists of rows alone. Long ranges are read piece by piece, and a group may appear in several
 * pieces.
 */
export class UsageSums {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  /** Calls back with the groups of each piece. */
  async read(
    query: SummedQuery,
    part: SourceRange,
    take: (rows: readonly GroupedRow[]) => void,
  ): Promise<void> {
    const sums = sumTableOf(part.source, query.details);
    const { keyId, signal } = query;
    const group = async (piece: SourceRange, keys?: KeyRange) => {
      signal?.throwIfAborted();
      const rows = await this.#group(query, piece, sums, keys);
      for (let first = 0; first < rows.length; first += rowsPerTurn) {
        if (first > 0) await nextLoopIteration();
        take(rows.slice(first, first + rowsPerTurn));
      }
    };
    if (sums === null) await this.#byTime(part, group);
    else if (sums.isByKey && keyId === undefined) {
      await this.#byKeys((keys) => this.#ofKeys(part, sums, keys, group));
    } else {
      const ofThatKey = (parameters: Parameters) =>
        keyId === undefined ? "" : ` AND ${ofKey(keyId, parameters)}`;
      await bySums(this.#queries, part, sums, ofThatKey, (piece) => group({ ...part, ...piece }));
    }
  }

  async readLatencies(
    stepMs: number,
    part: SourceRange,
    take: (rows: readonly LatencyBand[]) => void,
  ): Promise<void> {
    const sums = latencyTableOf(part.source);
    const read = async (piece: SourceRange) => take(await this.#latencies(stepMs, piece));
    if (sums === null) await this.#byTime(part, read);
    else
      await bySums(
        this.#queries,
        part,
        sums,
        () => "",
        (piece) => read({ ...part, ...piece }),
      );
  }

  #latencies(stepMs: number, part: SourceRange): Promise<readonly LatencyBand[]> {
    const parameters = new Parameters();
    const counted = countedRows(
      { ...part, parameters },
      latencyTableOf(part.source),
      ({ column, unitMs }) => {
        const step = `${column} / ${parameters.add(stepMs / unitMs)} AS step`;
        if (unitMs > 1) return [`${step}, measure, up_to_ms, requests`];
        return ["first_byte", "total"].map(
          (measure) =>
            `${step}, '${measure}' AS measure, ${bandOfColumn(`${measure}_ms`)} AS up_to_ms, ${measure}_count AS requests`,
        );
      },
    );
    const startMs = `(step * ${parameters.add(stepMs)})::float8`;
    return this.#queries.read<LatencyBand>(
      `SELECT ${startMs} AS "startMs", measure, up_to_ms::float8 AS "upToMs", sum(requests)::float8 AS requests
      FROM (${counted}) counted WHERE requests > 0 GROUP BY step, measure, up_to_ms`,
      parameters.all,
    );
  }

  #group(
    { dimensions, keyId, accountId }: SummedQuery,
    part: SourceRange,
    sums: SumTable | null,
    keys?: KeyRange,
  ): Promise<readonly GroupedRow[]> {
    const parameters = new Parameters();
    const isInPieces = this.#queries.pace.rowsPerSum !== null;
    const names = dimensions.map((_, place) => `group${place}`);
    const counted = countedRows({ ...part, keyId, accountId, keys, parameters, isInPieces }, sums, (time) => [
      [
        ...dimensions.map((dimension, place) => `${dimension.of(time)} AS ${names[place]}`),
        totalColumns,
      ].join(", "),
    ]);
    const shown = dimensions.map(({ shown }, place) => {
      const name = names[place] ?? "";
      return `${shown?.(name) ?? name} AS ${name}`;
    });
    return this.#queries.read<GroupedRow>(
      `SELECT ${[...shown, summedTotals].join(", ")} FROM (${counted}) counted GROUP BY ${names.map((name) => `counted.${name}`).join(", ")}`,
      parameters.all,
    );
  }

  #byTime(part: SourceRange, read: (piece: SourceRange) => Promise<void>): Promise<void> {
    const tables = ["entries", "exchange_endings"] as const;
    return byTime(this.#queries, part, tables, (piece) => read({ ...part, ...piece }));
  }

  /** One key may have as many totals as all others together, so it is read alone, in pieces of time. */
  async #ofKeys(
    part: SourceRange,
    sums: SumTable,
    [first, last]: KeyRange,
    read: (piece: SourceRange, keys: KeyRange) => Promise<void>,
  ): Promise<void> {
    const { rowsPerSum } = this.#queries.pace;
    if (rowsPerSum === null || !(await this.#areMany(part, sums, [first, last], rowsPerSum))) {
      return read(part, [first, last]);
    }
    if (first < last) {
      const middle = (first + last) >> 1;
      await this.#ofKeys(part, sums, [first, middle], read);
      return this.#ofKeys(part, sums, [middle + 1, last], read);
    }
    const ofThatKey = (parameters: Parameters) => ` AND key_no = ${parameters.add(first)}`;
    await bySums(this.#queries, part, sums, ofThatKey, (piece) => read({ ...part, ...piece }, [first, last]));
  }

  async #areMany(part: SourceRange, sums: SumTable, keys: KeyRange, rows: number): Promise<boolean> {
    const { table, column, unitMs } = sums;
    const [row] = await this.#queries.read<{ count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM keys CROSS JOIN ${table} WHERE keys.no BETWEEN $1 AND $2 AND ${table}.key_no = keys.no
        AND ${table}.${column} >= $3 AND ${table}.${column} < $4 LIMIT $5) some`,
      [...keys, part.sinceMs / unitMs, part.untilMs / unitMs, rows + 1],
    );
    return (row?.count ?? 0) > rows;
  }

  /** Reads as many keys at once as fit the time limit. */
  async #byKeys(read: (keys: KeyRange) => Promise<void>): Promise<void> {
    const [newest] = await this.#queries.read<{ no: number | null }>("SELECT max(no) AS no FROM keys");
    let size = firstKeys;
    for (let first = 1; first <= (newest?.no ?? 0); ) {
      const startedAtMs = performance.now();
      await read([first, first + size - 1]);
      first += size;
      const tookMs = Math.max(performance.now() - startedAtMs, 0.01);
      size = Math.max(minKeys, Math.floor(size * Math.min(maxGrowth, this.#queries.pace.keysMs / tookMs)));
      await Bun.sleep(0);
    }
  }
}

interface CountedRange extends SourceRange, UsageFilter {
  readonly keys?: KeyRange | undefined;
  readonly parameters: Parameters;
  /** Whether the range has so few rows that an index on time finds them best. */
  readonly isInPieces?: boolean;
}

/** Selects the rows that a report adds up. `columns` returns the select list for a table, given its time column. */
function countedRows(
  { source, sinceMs, untilMs, keyId, accountId, keys, parameters, isInPieces = false }: CountedRange,
  sums: SumTable | null,
  columns: (time: { column: string; unitMs: number }) => readonly string[],
): string {
  const key = keyId === undefined ? "" : ` AND ${ofKey(keyId, parameters)}`;
  const account =
    accountId === undefined
      ? ""
      : ` AND account_no = (SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
  const among = keys && `BETWEEN ${parameters.add(keys[0])} AND ${parameters.add(keys[1])}`;
  const within = (tables: string, column: string, unitMs: number, also: string) => {
    const [from, to] = [parameters.add(sinceMs / unitMs), parameters.add(untilMs / unitMs)];
    return columns({ column, unitMs }).map(
      (selected) =>
        `SELECT ${selected} FROM ${tables} WHERE ${column} >= ${from} AND ${column} < ${to}${also}`,
    );
  };
  // Filters by time alone: the pieces are short, and SQLite would go through all rows of the key for each of them.
  if (source === "rows")
    return within(
      "usage_rows",
      "at_ms",
      1,
      (isInPieces ? key.replace("key_no", "+key_no") : key) + account,
    ).join(" UNION ALL ");
  // Key by key, so that the index on key and time is used. Of a key only its number is there, so that no other column is ambiguous.
  const [tables, ofKeys] =
    among === undefined
      ? ["", ""]
      : [
          `(SELECT no AS picked_no FROM keys WHERE no ${among}) AS picked CROSS JOIN `,
          " AND key_no = picked.picked_no",
        ];
  const summed = sums === null ? [] : within(tables + sums.table, sums.column, sums.unitMs, key + ofKeys);
  // The plus signs keep SQLite from using the indexes on time or key: few rows are uncounted.
  const ofPiece = among === undefined ? "" : ` AND +key_no ${among}`;
  const uncounted = within("uncounted_usage", "+at_ms", 1, key + ofPiece);
  return [...summed, ...uncounted].join(" UNION ALL ");
}
