import { figureColumnNames } from "./figure-columns.ts";
import { bandOfColumn } from "./latency-bands.ts";

/** How sums for reports are added to, in every database: `counted` has what is new, and each statement adds it to one table. */

const added = figureColumnNames.map((column) => `sum(${column})::int8 AS ${column}`).join(", ");

/** What rows of figures count, by the minute, and by the bands that their times fall into. */
export function countedIn(rows: string): string {
  const band = (measure: "first_byte" | "total") =>
    `CASE WHEN ${measure}_count = 1 THEN ${bandOfColumn(`${measure}_ms`)} END AS ${measure}_up_to_ms`;
  return `SELECT (at_ms / 60000)::int AS minute, key_no, model, provider, ${band("first_byte")}, ${band("total")}, ${added}
  FROM ${rows} GROUP BY 1, 2, 3, 4, 5, 6`;
}

/** Adds columns of `from` to the rows with the same key, which is made of expressions; in its order, so that nobody waits in a circle. */
export function upsertSums(
  table: string,
  key: Readonly<Record<string, string>>,
  from = "counted",
  figures: readonly string[] = figureColumnNames,
): string {
  const names = Object.keys(key);
  const places = names.map((_, place) => place + 1).join(", ");
  const selected = Object.entries(key).map(([name, expression]) => `${expression} AS ${name}`);
  const sums = figures.map((column) => `sum(${column})::int8 AS ${column}`);
  const raised = figures.map((column) => `${column} = ${table}.${column} + excluded.${column}`);
  return `INSERT INTO ${table} (${[...names, ...figures].join(", ")})
    SELECT ${[...selected, ...sums].join(", ")} FROM ${from} GROUP BY ${places} ORDER BY ${places}
    ON CONFLICT (${names.join(", ")}) DO UPDATE SET ${raised.join(", ")}`;
}

const bands = `(
  SELECT minute, 'first_byte' AS measure, first_byte_up_to_ms AS up_to_ms, first_byte_count AS requests FROM counted
  UNION ALL SELECT minute, 'total', total_up_to_ms, total_count FROM counted) AS bands WHERE up_to_ms IS NOT NULL`;

function upsertLatencies(table: string, time: Readonly<Record<string, string>>): string {
  return upsertSums(table, { ...time, measure: "measure", up_to_ms: "up_to_ms" }, bands, ["requests"]);
}

const ofModel = { model: "model", provider: "provider" };

export const additions: readonly string[] = [
  upsertSums("usage_minutes", { minute: "minute", key_no: "key_no", ...ofModel }),
  upsertSums("usage_key_hours", { key_no: "key_no", hour: "minute / 60", ...ofModel }),
  upsertSums("usage_all_hours", { hour: "minute / 60", ...ofModel }),
  upsertSums("usage_key_days", { key_no: "key_no", day: "minute / 1440" }),
  upsertLatencies("latency_minutes", { minute: "minute" }),
  upsertLatencies("latency_all_hours", { hour: "minute / 60" }),
];

/** The shortest chart shows an hour and compares it with the one before. */
const minutesKept = 180;

/**
 * Deletes what is before the last minutes in which anything happened. They are counted, because the time of a row alone proves nothing:
 * one call under a clock that is hours ahead would take everybody's last hours with it. What is dated after `now`, an expression in
 * minutes since 1970, is not counted.
 */
export function forgetMinutes(now: string): readonly string[] {
  const oldest = `
WITH RECURSIVE kept (minute, place) AS (
  SELECT (SELECT max(minute) FROM usage_minutes WHERE minute <= ${now}), 1
  UNION ALL
  SELECT (SELECT max(minute) FROM usage_minutes WHERE minute < kept.minute), place + 1 FROM kept
  WHERE kept.minute IS NOT NULL AND place < ${minutesKept}
)
SELECT minute FROM kept WHERE place = ${minutesKept}`;
  return ["latency_minutes", "usage_minutes"].map(
    (table) => `DELETE FROM ${table} WHERE minute < (${oldest})`,
  );
}
