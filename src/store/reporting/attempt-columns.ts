import { msPerDay } from "../../base/clock.ts";
import { attemptTotalNames } from "../attempt-sums.ts";
import { columnOf } from "./total-columns.ts";

/** The dimensions of attempt totals, in the order of the table's key. */
export const attemptKeyColumns: readonly string[] = [
  "provider",
  "day",
  "credential",
  "upstream_model",
  "ending",
  "node_no",
];

export const attemptTotalColumns: readonly string[] = attemptTotalNames.map(columnOf);

/** The position after a page of totals: the day, credential, upstream model and outcome of its last row. */
export type AttemptPlace = readonly [day: number, credential: string, upstreamModel: string, outcome: string];

const place = "(day, credential, upstream_model, ending)";
/** The bounds of time let SQLite find the rows of charges by an index. */
const after = `provider = $1 AND ${place} > ($2::int8, $3::text, $4::text, $5::text) AND at_ms >= $2::int8 * ${msPerDay}`;

/** The end of the next page; no row if the rest fits on one page. */
export const selectPageEnd = `
SELECT day::float8 AS day, credential, upstream_model AS "upstreamModel", ending AS outcome
FROM attempt_totals WHERE ${after} AND at_ms < ($6::int8 + 1) * ${msPerDay}
GROUP BY day, credential, upstream_model, ending
ORDER BY day, credential, upstream_model, ending LIMIT 1 OFFSET $7::int8`;

/** The totals of a provider between two positions, including the second one, over all nodes. */
export const selectAttemptSums = `
SELECT provider, day::float8 AS day, credential, upstream_model AS "upstreamModel", ending AS outcome,
  ${attemptTotalNames.map((name) => `sum(${columnOf(name)})::float8 AS "${name}"`).join(", ")}
FROM attempt_totals WHERE ${after} AND at_ms < ($6::int8 + 1) * ${msPerDay}
  AND ${place} <= ($6::int8, $7::text, $8::text, $9::text)
GROUP BY provider, day, credential, upstream_model, ending ORDER BY day, credential, upstream_model, ending`;
