import { aheadOf, dateOfDay, utcDay } from "../../base/clock.ts";
import { plural } from "../../base/text/plural.ts";
import type { OwnStatements } from "../own-statements.ts";
import { type Parameter, query, type Work } from "../query.ts";
import type { ClockReturn } from "../store.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

/**
 * Brings back accounts, caps and keys that a fast clock moved more than an hour into the future. Their totals are
 * recomputed from the entries. What is dated ahead counts now, so that nothing becomes free and nothing waits for
 * that day. Null if there is nothing to do. For one account and its keys, or for all.
 */
export function* returnToPresent(
  own: OwnStatements,
  nowMs: number,
  accountNo: number | null = null,
): Work<ClockReturn | null> {
  const aheadMs = aheadOf(nowMs);
  if ((yield* query(selectAnyAhead, [aheadMs])).length === 0) return null;
  yield* lockRevision();
  const accounts = yield* numbers(aheadAccounts, [aheadMs, accountNo]);
  const keys = yield* numbers(aheadKeys, [aheadMs, accounts, accountNo]);
  if (accounts.length + keys.length === 0) return null;
  const [latest] = yield* query<{ latestMs: number }>(selectLatest);
  const [last] = yield* query<{ no: number }>("SELECT coalesce(max(no), 0) AS no FROM clock_returns");
  const lastNo = last?.no ?? 0;
  yield* query(insertAccounts, [accounts, nowMs]);
  yield* query(insertKeys, [keys, nowMs]);
  yield* query(returnHolds, [nowMs, aheadMs, lastNo]);
  yield* query(returnAccounts, [nowMs, lastNo]);
  yield* query(returnCaps, [accounts, keys, nowMs]);
  yield* query(returnKeys(own), [keys, utcDay(nowMs)]);
  yield* own.recountHolds(accounts, keys);
  // The extra amounts of caps have changed, too.
  const revision = yield* raiseRevision();
  yield* query(reviseAccounts, [revision, accounts]);
  yield* query(reviseKeys, [revision, keys]);
  const returned = { accounts: accounts.length, keys: keys.length, fromMs: latest?.latestMs ?? aheadMs };
  yield* query(
    `INSERT INTO audit_log (at_ms, actor, address, action, detail) VALUES ($1::int8, 'sluice', '', 'clock.return', $2::text)`,
    [nowMs, detailOf(returned)],
  );
  return returned;
}

export function* presentMs({ selectNow }: OwnStatements, nowMs: number): Work<number> {
  const [row] = yield* query<{ now: number }>(selectNow, [nowMs]);
  return row?.now ?? nowMs;
}

function detailOf({ accounts, keys, fromMs }: ClockReturn): string {
  return `a clock was ahead, up to ${dateOfDay(utcDay(fromMs))}: ${plural(accounts, "account")} and ${plural(keys, "key")} count from now again`;
}

function* numbers(text: string, parameters: readonly Parameter[]): Work<number[]> {
  return (yield* query<{ no: number }>(text, parameters)).map(({ no }) => no);
}

/** Not locked, because nearly always there is nothing to do. */
const selectAnyAhead = `
SELECT 1 WHERE EXISTS (SELECT 1 FROM accounts WHERE counted_at_ms > $1::int8 OR period_start_ms > $1::int8)
  OR EXISTS (SELECT 1 FROM caps WHERE period_start_ms > $1::int8) OR EXISTS (SELECT 1 FROM holds WHERE counted_at_ms > $1::int8)
  OR EXISTS (SELECT 1 FROM key_sums WHERE day::int8 * 86400000 > $1::int8)`;

/** Locked in the same order as by charges: accounts first, by number. */
const aheadAccounts = `
SELECT no FROM accounts WHERE no = coalesce($2::int8, no) AND (counted_at_ms > $1::int8 OR period_start_ms > $1::int8
  OR no IN (SELECT account_no FROM caps WHERE account_no IS NOT NULL AND period_start_ms > $1::int8)
  OR no IN (SELECT coalesce(account_no, key_no) FROM holds WHERE counted_at_ms > $1::int8))
ORDER BY no FOR NO KEY UPDATE`;

/**
 * Includes keys that are or were billed to such an account: their charges may count ahead, and a new cap would count
 * them.
 */
const aheadKeys = `
SELECT key_no AS no FROM key_sums
WHERE ($3::int8 IS NULL OR key_no IN (SELECT no FROM keys WHERE account_no = $3::int8)) AND (day::int8 * 86400000 > $1::int8
  OR key_no IN (SELECT key_no FROM caps WHERE key_no IS NOT NULL AND period_start_ms > $1::int8)
  OR key_no IN (SELECT key_no FROM holds WHERE counted_at_ms > $1::int8)
  OR key_no IN (SELECT no FROM keys WHERE account_no = ANY ($2::int8[]))
  OR key_no IN (SELECT key_no FROM key_moves WHERE account_no = ANY ($2::int8[])))
ORDER BY key_no FOR NO KEY UPDATE`;

const selectLatest = `SELECT max(counted_at_ms)::float8 AS "latestMs" FROM accounts`;

const through = "(SELECT coalesce(max(id), 0) FROM entries)";

/** A budget that never resets stays in its period. */
const insertAccounts = `
INSERT INTO clock_returns (account_no, entries_through, to_ms, period_ms)
SELECT no, ${through}, $2::int8, least(period_start_ms,
  CASE WHEN period = 'none' THEN sluice_period_start('day', $2::int8) ELSE sluice_period_start(period, $2::int8) END)
FROM accounts WHERE no = ANY ($1::int8[])`;

const insertKeys = `
INSERT INTO clock_returns (key_no, entries_through, to_ms, period_ms)
SELECT no, ${through}, $2::int8, 0 FROM keys WHERE no = ANY ($1::int8[])`;

/** Running requests are charged to the present. */
const returnHolds = `
UPDATE holds SET counted_at_ms = $1::int8, period_start_ms = least(holds.period_start_ms, r.period_ms)
FROM clock_returns r
WHERE r.no > $3::int8 AND r.account_no = coalesce(holds.account_no, holds.key_no) AND holds.counted_at_ms > $2::int8`;

const returnAccounts = `
UPDATE accounts SET counted_at_ms = least(accounts.counted_at_ms, $1::int8), period_start_ms = r.period_ms,
  period_used = CASE WHEN r.period_ms < accounts.period_start_ms THEN coalesce(s.used, 0) ELSE accounts.period_used END
FROM clock_returns r LEFT JOIN (
  SELECT account_no, period_start_ms, sum(amount) AS used FROM counted_charges WHERE period_start_ms > 0 GROUP BY account_no, period_start_ms
) s ON s.account_no = r.account_no AND s.period_start_ms = r.period_ms
WHERE r.no > $2::int8 AND r.account_no = accounts.no`;

const present = "sluice_period_start(caps.period, $3::int8)";

const countedBy = (owner: "key_no" | "account_no", counted: string, owners: string) => `
  SELECT caps.no, c.amount FROM caps JOIN counted_charges c ON c.${owner} = caps.${owner}
  WHERE caps.${owner} = ANY (${owners}) AND sluice_period_start(caps.period, c.${counted}) = ${present}
    AND sluice_matches(caps.models, c.model)`;

/** The extra amount of a future period applies to the current one. */
const returnCaps = `
UPDATE caps SET period_start_ms = ${present}, used = coalesce(s.used, 0),
  extra_period_ms = least(caps.extra_period_ms, ${present})
FROM caps c LEFT JOIN (
  SELECT no, sum(amount) AS used FROM (
    ${countedBy("account_no", "counted_by_account", "$1::int8[]")} UNION ALL ${countedBy("key_no", "counted_by_key", "$2::int8[]")}
  ) AS counted GROUP BY no
) s ON s.no = c.no
WHERE c.no = caps.no AND (caps.account_no = ANY ($1::int8[]) OR caps.key_no = ANY ($2::int8[])) AND caps.period_start_ms > ${present}`;

const returnKeys = ({ isInKeyTotals }: OwnStatements) => `
UPDATE key_sums SET day = $2::int, day_spend = coalesce(s.spent, 0)
FROM keys LEFT JOIN (
  SELECT key_no, sum(amount) AS spent FROM counted_charges WHERE day = $2::int8 AND key_no = ANY ($1::int8[]) AND ${isInKeyTotals} GROUP BY key_no
) s ON s.key_no = keys.no
WHERE keys.no = key_sums.key_no AND key_sums.key_no = ANY ($1::int8[]) AND key_sums.day > $2::int`;

const reviseAccounts = `
UPDATE accounts SET account_revision = $1::int8 WHERE no = ANY ($2::int8[]) AND no IN (SELECT account_no FROM caps WHERE account_no IS NOT NULL)`;

const reviseKeys = `
UPDATE keys SET revision = $1::int8 WHERE no = ANY ($2::int8[]) AND no IN (SELECT key_no FROM caps WHERE key_no IS NOT NULL)`;
