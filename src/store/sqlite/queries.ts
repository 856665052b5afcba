import type { Database, SQLQueryBindings } from "bun:sqlite";
import type { Parameter, Queries, Query, Work } from "../query.ts";
import { patiently } from "./connection.ts";

/** Makes what was committed durable. */
export interface Durability {
  /** Throws if nothing may be committed any more. */
  check(): void;
  sync(): Promise<void>;
  /** The error of a change, for its caller. */
  explain(error: unknown): unknown;
  /** Changes wait for this. */
  readonly restarting: Promise<void> | null;
}

/** For data that a power cut may lose, as long as it stays consistent. */
export const notDurable: Durability = {
  check: () => {},
  sync: async () => {},
  explain: (error) => error,
  restarting: null,
};

export function sqliteQueries(database: Database, timeoutMs: number, durability: Durability): Queries {
  const whole = <Result>(work: () => Work<Result>) => database.transaction(() => perform(database, work()));
  // Each statement is a transaction of its own, whether it reads or writes.
  const query: Query = <Row>(text: string, parameters: readonly Parameter[] = []) =>
    patiently(timeoutMs, () => rowsOf<Row>(database, text, parameters));
  const durably = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    while (durability.restarting !== null) await durability.restarting;
    durability.check();
    const result = await run().catch((error) => {
      throw durability.explain(error);
    });
    // Sync even if nothing changed: the result may rest on a commit that is not durable yet.
    await durability.sync();
    return result;
  };
  return {
    read: query,
    change: (text, parameters) => durably(() => query(text, parameters)),
    readTogether: (work) => patiently(timeoutMs, whole(work).deferred),
    changeTogether: (work) => durably(() => patiently(timeoutMs, whole(work).immediate)),
  };
}

/** Runs the work inside the caller's transaction. */
export function perform<Result>(database: Database, work: Work<Result>): Result {
  return performWith((text, parameters) => rowsOf(database, text, parameters), work);
}

export function performWith<Result>(
  run: (text: string, parameters: readonly Parameter[]) => unknown[],
  work: Work<Result>,
): Result {
  let next = work.next([]);
  while (next.done !== true) next = work.next(run(next.value.text, next.value.parameters));
  return next.value;
}

function rowsOf<Row>(database: Database, text: string, parameters: readonly Parameter[]): Row[] {
  return database.query<Row, SQLQueryBindings[]>(sqliteText(text)).all(...parameters.map(bindable));
}

/** Differences of SQLite's SQL from PostgreSQL's. Values need no casts, and its ledger is one table for all months. */
const differences: readonly (readonly [RegExp, string])[] = [
  [/\$(\d+)/g, "?$1"],
  [/::\w+(?:\[\])?/g, ""],
  [/= ANY \((\?\d+)\)/g, "IN (SELECT value FROM json_each($1))"],
  [/\bunnest\((\?\d+)\) AS (\w+) \(value\)/g, "json_each($1) AS $2"],
  [/\bjson_agg\(/g, "json_group_array("],
  [/\bjson_array_elements\(/g, "json_each("],
  [/\bjson_build_object\(/g, "json_object("],
  [/ ILIKE /g, " LIKE "],
  [/ COLLATE "C"/g, ""],
  [/\bleast\(/g, "min("],
  [/ FOR (?:NO KEY )?UPDATE(?: SKIP LOCKED)?/g, ""],
  [/ OVERRIDING SYSTEM VALUE/g, ""],
  [
    /\bto_char\(to_timestamp\(([^()]*)\) AT TIME ZONE 'UTC', 'YYYY-MM'\)/g,
    "strftime('%Y-%m', $1, 'unixepoch')",
  ],
  [/ AND entries\.month = exchange_endings\.entry_month/g, ""],
  [/\bsluice_covers\(([^(),]+), ([^(),]+)\)/g, "($2 GLOB coalesce($1, '*') OR $2 GLOB '*[/.]' || $1)"],
  [
    /\bsluice_period_start\(([^(),]+), ([^(),]+)\)/g,
    `CASE $1 WHEN 'day' THEN $2 - $2 % 86400000 WHEN 'week' THEN $2 - ($2 - 345600000) % 604800000
    ELSE unixepoch($2 / 1000, 'unixepoch', 'start of month') * 1000 END`,
  ],
];

const known = new Map<string, string>();

/** Translates a statement for SQLite. The cache is bounded by the number of statements in the program. */
export function sqliteText(text: string): string {
  const found = known.get(text);
  if (found !== undefined) return found;
  const translated = differences.reduce((sql, [pattern, ours]) => sql.replaceAll(pattern, ours), text);
  known.set(text, translated);
  return translated;
}

/** Inserts a row by the names of its columns. */
export function insertNamed(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map((column) => `$${column}`).join(", ")})`;
}

export function bindable(parameter: Parameter): SQLQueryBindings {
  if (parameter instanceof Uint8Array) return parameter;
  return typeof parameter === "object" && parameter !== null ? JSON.stringify(parameter) : parameter;
}
