import { msPerHour } from "../../base/clock.ts";
import { bandOfColumn } from "./latency-bands.ts";
import { totalColumnNames } from "./total-columns.ts";

/** Adds the rows of `source` to a table of totals. `keys` maps the columns of its primary key to expressions over a row. */
function addToSums(
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

export function sumsOf(columns: readonly string[]): string {
  return columns.map((column) => `sum(${column})::int8 AS ${column}`).join(", ");
}

/** The latency bands of a row. Groups include them, so a band of a group has as many requests as the group. */
const bandColumns = {
  first_byte_band: bandOfColumn("first_byte_ms"),
  total_band: bandOfColumn("total_ms"),
};

const groupKeys = ["hour", "key_no", "model", "provider", ...Object.keys(bandColumns)];

/** The columns of `groupRows`, in order. */
export const groupColumns: readonly string[] = [...groupKeys, ...totalColumnNames];

/** Selects the rows of `source` in groups, each with its totals: the input of `addGroups`. */
export function groupRows(source: string): string {
  const bands = Object.entries(bandColumns).map(([name, band]) => `${band} AS ${name}`);
  return `SELECT (at_ms / ${msPerHour})::int AS hour, key_no, model, provider, ${bands.join(", ")}, ${sumsOf(totalColumnNames)}
    FROM ${source} GROUP BY 1, 2, 3, 4, 5, 6`;
}

const byHour = { hour: "hour", model: "model", provider: "provider" };

/** Adds the groups in the table `counted` to the totals that reports read, one statement per kind. Key 0 is all keys. */
export const addGroups: readonly string[] = [
  addToSums("usage_hours", { key_no: "key_no", ...byHour }, "counted"),
  addToSums("usage_hours", { key_no: "0", ...byHour }, "counted"),
  addLatencies(),
];

function addLatencies(): string {
  const bandsOf = (measure: "first_byte" | "total") =>
    `SELECT hour, '${measure}' AS measure, ${measure}_band AS up_to_ms, ${measure}_count AS requests
    FROM counted WHERE ${measure}_count > 0`;
  const keys = { hour: "hour", measure: "measure", up_to_ms: "up_to_ms" };
  const bands = `(${bandsOf("first_byte")} UNION ALL ${bandsOf("total")}) AS bands`;
  return addToSums("latency_hours", keys, bands, ["requests"]);
}

/** Totals of deleted endings, of which nothing else is counted. */
export const prunedColumns: readonly string[] = [
  ...["failed", "rejected", "cancelled", "interrupted", "total_ms", "total_count", "covered_attempts"],
];

/** Adds the endings with these ids, a parameter, to what retention has deleted. */
export const addPruned: string = addToSums(
  "pruned_usage",
  {
    key_no: "key_no",
    hour: `(at_ms / ${msPerHour})::int`,
    model: "model",
    provider: "provider",
    total_band: bandColumns.total_band,
  },
  `(SELECT * FROM ending_figures WHERE id = ANY ($1::int8[])
    UNION ALL SELECT * FROM attempt_figures WHERE id = ANY ($1::int8[])) AS pruned`,
  prunedColumns,
);

/** Selects what retention has deleted, as `groupRows` does. */
export const prunedGroups: string = `SELECT ${groupColumns
  .map((column) => {
    const isKept = ["hour", "key_no", "model", "provider", "total_band", ...prunedColumns].includes(column);
    return isKept ? column : `0 AS ${column}`;
  })
  .join(", ")} FROM pruned_usage`;
