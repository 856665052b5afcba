import { bandOfColumn } from "./latency-bands.ts";
import { totalColumnNames } from "./total-columns.ts";

/** Adds the rows of `source` to a table of totals. `keys` maps the columns of its primary key to expressions over a row. */
export function addToSums(
  table: string,
  keys: Readonly<Record<string, string>>,
  source: string,
  columns: readonly string[] = totalColumnNames,
): string {
  const names = Object.keys(keys);
  const places = names.map((_, place) => place + 1).join(", ");
  const selected = Object.entries(keys).map(([name, expression]) => `${expression} AS ${name}`);
  const added = columns.map((column) => `${column} = ${table}.${column} + excluded.${column}`);
  // Sorted by the primary key, so that concurrent updates lock rows in the same order.
  return `INSERT INTO ${table} (${[...names, ...columns].join(", ")})
    SELECT ${selected.join(", ")}, ${sumsOf(columns)} FROM ${source} WHERE true GROUP BY ${places} ORDER BY ${places}
    ON CONFLICT (${names.join(", ")}) DO UPDATE SET ${added.join(", ")}`;
}

function sumsOf(columns: readonly string[]): string {
  return columns.map((column) => `sum(${column})::int8 AS ${column}`).join(", ");
}

/** The latency bands of a row. Groups include them, so a band of a group has as many requests as the group. */
const bandColumns = {
  first_byte_band: bandOfColumn("first_byte_ms"),
  total_band: bandOfColumn("total_ms"),
};

/** The columns of `groupRows`, in order. */
export const groupColumns: readonly string[] = [
  ...["minute", "key_no", "model", "provider"],
  ...Object.keys(bandColumns),
  ...totalColumnNames,
];

/**
 * Selects the rows of `source` in groups, each with its totals: the input of `addGroups`. `minute` is an expression
 * over a row.
 */
export function groupRows(source: string, minute: string): string {
  const bands = Object.entries(bandColumns).map(([name, band]) => `${band} AS ${name}`);
  return `SELECT ${minute} AS minute, key_no, model, provider, ${bands.join(", ")}, ${sumsOf(totalColumnNames)}
    FROM ${source} GROUP BY 1, 2, 3, 4, 5, 6`;
}

const byModel = { model: "model", provider: "provider" };

/** Adds the groups in the table `counted` to every table of totals that reports read, one statement per table. */
export const addGroups: readonly string[] = [
  addToSums("usage_minutes", { minute: "minute", key_no: "key_no", ...byModel }, "counted"),
  addToSums("usage_key_hours", { key_no: "key_no", hour: "minute / 60", ...byModel }, "counted"),
  addToSums("usage_all_hours", { hour: "minute / 60", ...byModel }, "counted"),
  addToSums("usage_key_days", { key_no: "key_no", day: "minute / 1440" }, "counted"),
  addLatencies("latency_minutes", { minute: "minute" }),
  addLatencies("latency_all_hours", { hour: "minute / 60" }),
];

function addLatencies(table: string, time: Readonly<Record<string, string>>): string {
  const bandsOf = (measure: "first_byte" | "total") =>
    `SELECT minute, '${measure}' AS measure, ${measure}_band AS up_to_ms, ${measure}_count AS requests
    FROM counted WHERE ${measure}_count > 0`;
  const keys = { ...time, measure: "measure", up_to_ms: "up_to_ms" };
  return addToSums(table, keys, `(${bandsOf("first_byte")} UNION ALL ${bandsOf("total")}) AS bands`, [
    "requests",
  ]);
}
