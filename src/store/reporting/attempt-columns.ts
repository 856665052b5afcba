import { attemptFigureNames } from "../attempt-sums.ts";
import { columnOf } from "./figure-columns.ts";

/** What tells sums of attempts apart, in the order of the table's key. */
export const attemptKeyColumns: readonly string[] = [
  "provider",
  "day",
  "credential",
  "upstream_model",
  "ending",
  "node_no",
];

export const attemptFigureColumns: readonly string[] = attemptFigureNames.map(columnOf);

/** One row as it is, under the names that the program uses. */
export const namedAttempts = [
  ...["provider", "day", "credential", 'upstream_model AS "upstreamModel"', "ending"],
  ...attemptFigureNames.map((name) => `${columnOf(name)} AS "${name}"`),
].join(", ");

/** The sums of a provider between two days, over all nodes. */
export const selectAttemptSums = `
SELECT provider, day::float8 AS day, credential, upstream_model AS "upstreamModel", ending,
  ${attemptFigureNames.map((name) => `sum(${columnOf(name)})::float8 AS "${name}"`).join(", ")}
FROM attempt_sums WHERE provider = $1 AND day BETWEEN $2::int8 AND $3::int8
GROUP BY provider, day, credential, upstream_model, ending ORDER BY day, upstream_model, credential, ending`;
