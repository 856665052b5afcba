import { type Parameter, query, type Work } from "../query.ts";

/** The values of a row to write: the type and value of each column. */
export type WrittenRow = Readonly<
  Record<string, readonly [type: "text" | "int" | "int8", value: string | number | null]>
>;

/** Inserts a row, also into a table that numbers its own rows. */
export function* insertRow(table: string, row: WrittenRow): Work<void> {
  const places = Object.values(row).map(([type], index) => `$${index + 1}::${type}`);
  yield* query(
    `INSERT INTO ${table} (${Object.keys(row).join(", ")}) OVERRIDING SYSTEM VALUE VALUES (${places.join(", ")})`,
    valuesOf(row),
  );
}

export function* updateRow(table: string, no: number, row: WrittenRow): Work<void> {
  const columns = Object.entries(row).map(([column, [type]], index) => `${column} = $${index + 2}::${type}`);
  yield* query(`UPDATE ${table} SET ${columns.join(", ")} WHERE no = $1::int`, [no, ...valuesOf(row)]);
}

function valuesOf(row: WrittenRow): Parameter[] {
  return Object.values(row).map(([, value]) => value);
}

/** The only row; null if there is none. */
export function first<Row>([row]: readonly Row[]): Row | null {
  return row ?? null;
}

/** The only row, as `read` reads it. */
export function firstAs<Row, Read>(read: (row: Row) => Read): (rows: readonly Row[]) => Read | null {
  return ([row]) => (row === undefined ? null : read(row));
}

/** Whether a statement has found or changed anything. */
export function any(rows: readonly unknown[]): boolean {
  return rows.length > 0;
}

/** A record as it is stored: flags are 0 and 1. */
export type Flagged<Of, Flag extends keyof Of> = Omit<Of, Flag> & Readonly<Record<Flag, number>>;

/** Reads the flags of a row. */
export function unflagged<Row, Flag extends keyof Row>(
  row: Row,
  ...flags: readonly Flag[]
): Omit<Row, Flag> & Readonly<Record<Flag, boolean>> {
  const read = Object.fromEntries(flags.map((flag) => [flag, row[flag] === 1]));
  // Safe cast: there is one for each flag.
  return { ...row, ...(read as Record<Flag, boolean>) };
}
