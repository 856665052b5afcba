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
