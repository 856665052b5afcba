import { periodStarts } from "../../base/money/period.ts";
import type { CapPlaces, DrawnValue, DrawnValues, NearValue } from "../alert-records.ts";
import type { Query } from "../query.ts";

/** Maximum number of listed values per cap, in alphabetical order, so that repeated calls return the same ones. */
export const maxListedValues = 100;

interface DrawnRow extends DrawnValue {
  readonly found: number;
}

/** Values that have used 80% of their limit, and caps that count 80% of as many values as they may. */
export async function readDrawnValues(read: Query, nowMs: number): Promise<DrawnValues> {
  const starts = periodStarts(nowMs);
  const rows = await read<DrawnRow>(drawnValues, [...starts, maxListedValues]);
  const found = new Map(rows.map((row) => [row.capId, row.found]));
  return {
    listed: rows.map(({ found: _, ...value }) => value),
    more: [...found.values()].reduce((sum, all) => sum + Math.max(0, all - maxListedValues), 0),
    places: await read<CapPlaces>(drawnPlaces, starts),
  };
}

/** Maximum number of values that are listed as near their limit. */
const maxNear = 1_000;

/** Values that have used a share of their limit, the nearest first. */
export function readNearValues(read: Query, share: number, nowMs: number): Promise<NearValue[]> {
  const starts = periodStarts(nowMs);
  return read<NearValue>(nearValues, [...starts, share, maxNear]);
}

const isCurrent = `v.period_start_ms >= CASE c.period WHEN 'day' THEN $1::int8 WHEN 'week' THEN $2::int8 ELSE $3::int8 END`;
const raised = (row: string) =>
  `CASE WHEN ${row}.extra_period_ms = v.period_start_ms THEN ${row}.extra ELSE 0 END`;
const limit = `(c.amount + ${raised("c")} + ${raised("v")})`;
const scope = `(SELECT keys.id FROM keys WHERE keys.no = c.key_no) AS "keyId", (SELECT accounts.id FROM accounts WHERE accounts.no = c.account_no) AS "accountId"`;
/** A cap for only this value replaces it. */
const isReplaced = `c.value IS NULL AND EXISTS (SELECT 1 FROM value_caps o WHERE o.value = v.value AND o.label = c.label AND o.mode = c.mode AND o.period = c.period
  AND coalesce(o.models, '') = coalesce(c.models, '') AND coalesce(o.key_no, 0) = coalesce(c.key_no, 0) AND coalesce(o.account_no, 0) = coalesce(c.account_no, 0))`;

const drawnValues = `
SELECT c.id AS "capId", c.mode, c.label, c.period, c.models, ${scope}, drawn.value, drawn.used::float8 AS used, drawn.most::float8 AS "limit", drawn.found::float8 AS found
FROM (
  SELECT c.no, v.value, v.used, ${limit} AS most, row_number() OVER (PARTITION BY c.no ORDER BY v.value COLLATE "C") AS place, count(*) OVER (PARTITION BY c.no) AS found
  FROM value_caps c JOIN cap_values v ON v.cap_no = c.no
  WHERE ${isCurrent} AND v.used > 0 AND v.used * 5 >= ${limit} * 4 AND NOT (${isReplaced})
) AS drawn JOIN value_caps c ON c.no = drawn.no
WHERE drawn.place <= $4::int8 ORDER BY c.no, drawn.place`;

const nearValues = `
SELECT c.id AS "capId", c.mode, c.label, c.period, c.models, ${scope}, v.value, v.used::float8 AS used, ${limit}::float8 AS "limit",
  (${raised("v")})::float8 AS raised, v.period_start_ms::float8 AS "periodStartMs"
FROM value_caps c JOIN cap_values v ON v.cap_no = c.no
WHERE ${isCurrent} AND v.used > 0 AND v.used >= ${limit} * $4::float8 AND NOT (${isReplaced})
ORDER BY v.used * 1.0 / ${limit} DESC, c.no, v.value COLLATE "C" LIMIT $5::int8`;

const drawnPlaces = `
SELECT c.id AS "capId", c.label, c.period, ${scope}, counted.places::float8 AS counted, c.max_values::float8 AS "maxValues"
FROM (
  SELECT c.no, count(*) AS places FROM value_caps c JOIN cap_values v ON v.cap_no = c.no
  WHERE c.value IS NULL AND ${isCurrent} AND v.used > 0 GROUP BY c.no
) AS counted JOIN value_caps c ON c.no = counted.no
WHERE counted.places * 5 >= c.max_values * 4 ORDER BY c.no`;
