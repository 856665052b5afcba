import { figureColumnNames } from "./figure-columns.ts";
import { bandOfColumn } from "./latency-bands.ts";

/** Adds the rows of `source` to a table of sums. `keys` has the columns of its primary key, each with what it is in a row. */
export function addToSums(
  table: string,
  keys: Readonly<Record<string, string>>,
  source: string,
  figures: readonly string[] = figureColumnNames,
): string {
  const names = Object.keys(keys);
  const places = names.map((_, place) => place + 1).join(", ");
  const selected = Object.entries(keys).map(([name, expression]) => `${expression} AS ${name}`);
  const added = figures.map((column) => `${column} = ${table}.${column} + excluded.${column}`);
  // Sorted by the primary key, so that two that add at once lock rows in the same order.
  return `INSERT INTO ${table} (${[...names, ...figures].join(", ")})
    SELECT ${selected.join(", ")}, ${sumsOf(figures)} FROM ${source} WHERE true GROUP BY ${places} ORDER BY ${places}
    ON CONFLICT (${names.join(", ")}) DO UPDATE SET ${added.join(", ")}`;
}

export function sumsOf(columns: readonly string[]): string {
  return columns.map((column) => `sum(${column})::int8 AS ${column}`).join(", ");
}

/** The bands of time that a row falls into: what it is grouped by, so that a group has as many requests in a band as it has in all. */
export const bandColumns = {
  first_byte_band: bandOfColumn("first_byte_ms"),
  total_band: bandOfColumn("total_ms"),
};

/** Adds groups of rows, with their bands, to a table of latencies. */
export function addLatencies(table: string, time: Readonly<Record<string, string>>, source: string): string {
  const bandsOf = (measure: "first_byte" | "total") =>
    `SELECT minute, '${measure}' AS measure, ${measure}_band AS up_to_ms, ${measure}_count AS requests
    FROM ${source} WHERE ${measure}_count > 0`;
  const keys = { ...time, measure: "measure", up_to_ms: "up_to_ms" };
  return addToSums(table, keys, `(${bandsOf("first_byte")} UNION ALL ${bandsOf("total")}) AS bands`, [
    "requests",
  ]);
}
