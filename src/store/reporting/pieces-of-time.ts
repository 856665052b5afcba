import { Parameters, type Queries } from "../query.ts";

type TimedTable = "entries" | "exchange_endings";

interface Times {
  readonly sinceMs: number;
  /** Not included. */
  readonly untilMs: number;
}

interface TimedSums {
  readonly table: string;
  readonly column: string;
  readonly unitMs: number;
}

/** Splits a time range into pieces whose rows can be read quickly. */
export async function byTime(
  queries: Queries,
  { sinceMs, untilMs }: Times,
  tables: readonly TimedTable[],
  read: (piece: Times) => Promise<void>,
): Promise<void> {
  for (let beginMs = sinceMs; beginMs < untilMs; ) {
    const endMs = await endOfPiece(queries, { sinceMs: beginMs, untilMs }, tables);
    await read({ sinceMs: beginMs, untilMs: endMs });
    beginMs = endMs;
    await Bun.sleep(0);
  }
}

/**
 * Splits a time range for a table of totals, or for the rows of it that match a condition: there are as many as hours
 * times models.
 */
export async function bySums(
  { read: select, pace: { rowsPerSum } }: Queries,
  { sinceMs, untilMs }: Times,
  { table, column, unitMs }: TimedSums,
  condition: (parameters: Parameters) => string,
  read: (piece: Times) => Promise<void>,
): Promise<void> {
  for (let beginMs = sinceMs; beginMs < untilMs; ) {
    const endMs = rowsPerSum === null ? untilMs : await endAfter(beginMs, rowsPerSum);
    await read({ sinceMs: beginMs, untilMs: endMs });
    beginMs = endMs;
    if (beginMs < untilMs) await Bun.sleep(0);
  }

  async function endAfter(beginMs: number, rows: number): Promise<number> {
    const parameters = new Parameters();
    const within = `${column} >= ${parameters.add(beginMs / unitMs)} AND ${column} < ${parameters.add(untilMs / unitMs)}`;
    const also = condition(parameters);
    const [next] = await select<{ unit: number }>(
      `SELECT ${column}::float8 AS unit FROM ${table} WHERE ${within}${also} ORDER BY ${column} LIMIT 1 OFFSET ${parameters.add(rows)}`,
      parameters.all,
    );
    return next === undefined ? untilMs : Math.max(beginMs + unitMs, next.unit * unitMs);
  }
}

/** The end of the next piece: about as many rows as may be summed at once lie before it. */
async function endOfPiece(
  { read, pace }: Queries,
  { sinceMs, untilMs }: Times,
  tables: readonly TimedTable[],
): Promise<number> {
  if (pace.rowsPerSum === null) return untilMs;
  const ends = tables.map(
    (table) =>
      `SELECT (SELECT at_ms FROM ${table} WHERE at_ms >= $1 AND at_ms < $2 ORDER BY at_ms LIMIT 1 OFFSET $3) AS at_ms`,
  );
  const [next] = await read<{ atMs: number | null }>(
    `SELECT min(at_ms) AS "atMs" FROM (${ends.join(" UNION ALL ")})`,
    [sinceMs, untilMs, pace.rowsPerSum],
  );
  return Math.max(sinceMs + 1, next?.atMs ?? untilMs);
}
