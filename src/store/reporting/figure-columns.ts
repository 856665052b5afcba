import { figureNames } from "../figures.ts";

/** The column of a total. */
export function columnOf(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns of all totals, as every table and view of them has them. */
export const figureColumnNames: readonly string[] = figureNames.map(columnOf);

export const figureColumns = figureColumnNames.join(", ");

/** Sums of all totals, under the names that the program uses. */
export const summedFigures = figureNames
  .map((name) => `sum(${columnOf(name)})::float8 AS "${name}"`)
  .join(", ");

/** Adds totals to the row with this primary key, or creates it. */
export function upsertFigures(
  table: string,
  keyColumns: readonly string[],
  figures: readonly string[],
): string {
  const names = [...keyColumns, ...figures];
  const sums = figures.map((column) => `${column} = ${column} + excluded.${column}`);
  return `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})
ON CONFLICT DO UPDATE SET ${sums.join(", ")}`;
}
