import { msPerDay, utcDay } from "../../base/clock.ts";
import { periodStart } from "../../base/money/period.ts";
import type { DrawnBound, Listed } from "../alert-records.ts";
import type { Query } from "../query.ts";

/** How many accounts, or caps, one statement looks at. */
const perPiece = 5_000;

/**
 * At most so many bounds: the list of what needs attention is for people. Those of the accounts with the lowest numbers, so that it is
 * the same at each look.
 */
export async function readDrawnBounds(read: Query, nowMs: number, most: number): Promise<Listed<DrawnBound>> {
  const listed: DrawnBound[] = [];
  let more = 0;
  const [numbers] = await read<{ last: number | null }>(
    `SELECT max(no)::float8 AS last FROM (SELECT max(no) AS no FROM accounts UNION ALL SELECT max(no) FROM caps) numbers`,
  );
  const last = numbers?.last ?? 0;
  for (let first = 1; first <= last; first += perPiece) {
    const parameters = [...drawnBoundsParameters(nowMs), first, first + perPiece - 1];
    if (listed.length < most) {
      const bounds = await read<DrawnBound>(drawnBoundsSql, parameters);
      const room = most - listed.length;
      listed.push(...bounds.slice(0, room));
      more += Math.max(0, bounds.length - room);
    } else {
      const [piece] = await read<{ count: number }>(countBoundsSql, parameters);
      more += piece?.count ?? 0;
    }
    await Bun.sleep(0);
  }
  return { listed, more };
}

/** The parameters of `drawnBoundsSql`, in their order; the piece follows them. */
function drawnBoundsParameters(nowMs: number): [number, number, number, number, number] {
  const starts = (["day", "week", "month"] as const).map((period) => periodStart(period, nowMs));
  const [day = 0, week = 0, month = 0] = starts;
  return [nowMs, day, week, month, utcDay(nowMs) - 6];
}

/**
 * Reads accounts and caps alone where it can: days of usage only for accounts that may be used up within a week, so
 * nearly half used up, or younger than that.
 */
const drawnBoundsSql = writeDrawnBounds();
const countBoundsSql = `SELECT count(*)::float8 AS count FROM (${drawnBoundsSql}) AS bounds`;

function writeDrawnBounds(): string {
  const [now, day, week, month, since, first, last] = [1, 2, 3, 4, 5, 6, 7].map((no) => `$${no}::int8`);
  const isInPiece = (table: string) => `${table}.no BETWEEN ${first} AND ${last}`;
  const isCurrent = (table: string) => `${table}.period_start_ms >=
    CASE ${table}.period WHEN 'day' THEN ${day} WHEN 'week' THEN ${week} WHEN 'month' THEN ${month} ELSE 0 END`;
  const isUsable = `closed_at_ms IS NULL
  AND (keys.no IS NULL OR (keys.status = 'active' AND (expires_at_ms IS NULL OR expires_at_ms > ${now})))`;
  const age = `(${now} - accounts.created_at_ms)`;
  const share = `(CASE WHEN ${age} >= ${6 * msPerDay} THEN 6.0 / 7 WHEN ${age} <= ${msPerDay} THEN 1.0 / 7 ELSE ${age} / ${7 * msPerDay}.0 END)`;
  const capLimit = "amount + CASE WHEN extra_period_ms = caps.period_start_ms THEN extra ELSE 0 END";
  const shared = `mode, accounts.id AS "accountId", account_label AS "accountLabel", keys.id AS "keyId", prefix, label`;
  return `
SELECT CASE mode WHEN 'credit' THEN 'balance' ELSE 'budget' END AS bound, ${shared},
  (CASE mode WHEN 'credit' THEN purchased ELSE budget_tokens END)::float8 AS "limit",
  (CASE mode WHEN 'credit' THEN accounts.used ELSE period_used END)::float8 AS used,
  accounts.period AS period, NULL AS models, NULL AS "capNo", accounts.created_at_ms::float8 AS "createdAtMs",
  (SELECT coalesce(sum(CASE mode WHEN 'credit' THEN spend_nano ELSE spend_tokens END), 0) FROM keys AS drawing
    JOIN usage_key_days ON key_no = drawing.no AND day >= ${since} WHERE drawing.account_no = accounts.no)::float8 AS "recentlyUsed"
FROM accounts LEFT JOIN keys ON keys.no = accounts.no AND keys.account_no = accounts.no
  AND (SELECT count(*) FROM keys AS drawing WHERE drawing.account_no = accounts.no) = 1
WHERE ${isInPiece("accounts")} AND ${isUsable} AND (
  (mode = 'credit' AND is_open = 0 AND purchased > 0 AND accounts.used >= posted * ${share})
  OR (mode = 'token_budget' AND budget_tokens > 0 AND ${isCurrent("accounts")}
    AND period_used >= (budget_tokens - period_used) * ${share}))
UNION ALL
SELECT CASE WHEN caps.key_no IS NULL THEN 'account_cap' ELSE 'key_cap' END, ${shared},
  (${capLimit})::float8, caps.used::float8, caps.period, caps.models, caps.no, accounts.created_at_ms::float8, 0
FROM caps LEFT JOIN keys ON keys.no = caps.key_no JOIN accounts ON accounts.no = coalesce(caps.account_no, keys.account_no)
WHERE ${isInPiece("caps")} AND ${isUsable} AND ${isCurrent("caps")} AND caps.used * 5 >= (${capLimit}) * 4`;
}
