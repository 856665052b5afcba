import { totalNames } from "../usage-totals.ts";

/** The column of a total. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns of all totals, in every table and view of them. */
export const totalColumnNames: readonly string[] = totalNames.map(columnOf);

export const totalColumns = totalColumnNames.join(", ");

/** Sums of all totals, under the names that the program uses. */
export const summedTotals = totalNames
  .map((name) => `sum(${columnOf(name)})::float8 AS "${name}"`)
  .join(", ");

/** Sums of all totals, under the names of the columns. */
export const summedColumns = totalColumnNames.map((column) => `sum(${column}) AS ${column}`).join(", ");

/** Columns of all totals, under the names that the program uses. */
export const namedTotals = totalNames.map((name) => `${columnOf(name)}::float8 AS "${name}"`).join(", ");

/** Adds totals to the row with this primary key, or creates it. */
export function upsertTotals(
  table: string,
  keyColumns: readonly string[],
  columns: readonly string[],
): string {
  const names = [...keyColumns, ...columns];
  const sums = columns.map((column) => `${column} = ${column} + excluded.${column}`);
  return `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
ON CONFLICT DO UPDATE SET ${sums.join(", ")}`;
}
