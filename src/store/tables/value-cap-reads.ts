import { periodStarts } from "../../base/money/period.ts";
import { query, type Work } from "../query.ts";
import type {
  CapCandidates,
  CountedValues,
  OwnedCap,
  ValueCapRecord,
  ValueTotals,
} from "../value-cap-records.ts";
import { type CapRow, recordOf, selectCaps, selectValues } from "./value-cap-table.ts";

/** Caps for each value, for one of these values, and within one of these keys or accounts. */
export function* bindingCaps({ values, keyIds, accountIds }: CapCandidates): Work<readonly ValueCapRecord[]> {
  const rows = yield* query<CapRow>(
    `${selectCaps} WHERE c.value IS NULL OR c.value = ANY ($1::text[])
      OR c.key_no IN (SELECT no FROM keys WHERE id = ANY ($2::text[]))
      OR c.account_no IN (SELECT no FROM accounts WHERE id = ANY ($3::text[])) ORDER BY c.no`,
    [values, keyIds, accountIds],
  );
  return rows.map(recordOf);
}

export function* totalsOfValues(capNos: readonly number[], values: readonly string[]): Work<ValueTotals[]> {
  return yield* query<ValueTotals>(
    `${selectValues} WHERE cap_no = ANY ($1::int[]) AND value = ANY ($2::text[])`,
    [capNos, values],
  );
}

export function* countedValues(nowMs: number): Work<CountedValues[]> {
  return yield* query<CountedValues>(
    `SELECT c.no AS "capNo", count(*) FILTER (WHERE v.used > 0)::float8 AS counted, sum(v.used)::float8 AS used,
      sum(CASE WHEN v.extra_period_ms = v.period_start_ms THEN v.extra ELSE 0 END)::float8 AS raised
    FROM value_caps c JOIN cap_values v ON v.cap_no = c.no
    WHERE v.period_start_ms >= CASE c.period WHEN 'day' THEN $1::int8 WHEN 'week' THEN $2::int8 ELSE $3::int8 END
    GROUP BY c.no`,
    periodStarts(nowMs),
  );
}

/** Caps of keys and of accounts, without revoked keys and closed accounts. */
export function* ownedCaps(): Work<OwnedCap[]> {
  return yield* query<OwnedCap>(
    `SELECT caps.no, keys.id AS "keyId", accounts.id AS "accountId", payer.mode, caps.amount::float8 AS "limit", caps.period, caps.models,
      caps.extra::float8 AS extra, caps.extra_period_ms::float8 AS "extraPeriodMs", caps.period_start_ms::float8 AS "periodStartMs",
      caps.used::float8 AS used, caps.later_used AS "laterUsed"
    FROM caps LEFT JOIN keys ON keys.no = caps.key_no LEFT JOIN accounts ON accounts.no = caps.account_no
      JOIN accounts payer ON payer.no = coalesce(caps.account_no, keys.account_no)
    WHERE (keys.no IS NULL OR keys.status <> 'revoked') AND payer.closed_at_ms IS NULL ORDER BY caps.no`,
  );
}
