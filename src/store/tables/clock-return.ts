import { aheadOf, dateOfDay, utcDay } from "../../base/clock.ts";
import { laterUseOf, laterUseText, returnTo } from "../../base/money/later-use.ts";
import { plural } from "../../base/text/plural.ts";
import type { OwnStatements } from "../own-statements.ts";
import { type Parameter, query, type Work } from "../query.ts";
import type { ClockReturn } from "../store.ts";
import { countsModel } from "./cap-table.ts";
import { lockRevision, raiseRevision } from "./revision.ts";
import { returnValues } from "./value-cap-table.ts";

/**
 * Returns accounts, caps and keys to the present that a fast clock moved more than an hour into the future. Charges
 * dated ahead count in the current period too, and again in their own once that begins: nothing becomes free, and
 * nothing waits for that day. If the slow clock was the wrong one, the charges of its period count there as before. Null if there is nothing
 * to do.
 */
export function* returnToPresent(own: OwnStatements, nowMs: number): Work<ClockReturn | null> {
  if (!(yield* isAnyAhead(nowMs))) return null;
  yield* lockRevision();
  yield* own.lockMoney();
  const accounts = yield* numbers(aheadAccounts, [nowMs]);
  const keys = yield* numbers(aheadKeys, [nowMs]);
  if (accounts.length + keys.length === 0) return null;
  const [latest] = yield* query<{ latestMs: number }>(selectLatest);
  yield* query(returnHolds, [nowMs]);
  yield* query(returnAccounts, [accounts, nowMs]);
  yield* query(returnBudgets, [yield* presentUse(chargedBudgets, [accounts, nowMs])]);
  yield* query(returnCaps, [yield* presentUse(chargedCaps, [accounts, keys, nowMs])]);
  yield* query(returnKeys, [keys, utcDay(nowMs)]);
  yield* own.recountHolds(accounts, keys);
  yield* returnValues(own, nowMs);
  // The extra amounts of caps have changed, too.
  const revision = yield* raiseRevision();
  yield* query(reviseAccounts, [revision, accounts]);
  yield* query(reviseKeys, [revision, keys]);
  const returned = { accounts: accounts.length, keys: keys.length, fromMs: latest?.latestMs ?? nowMs };
  yield* query(
    `INSERT INTO audit_log (at_ms, actor, address, action, detail) VALUES ($1::int8, 'sluice', '', 'clock.return', $2::text)`,
    [nowMs, detailOf(returned)],
  );
  return returned;
}

/** Not locked, because nearly always there is nothing. */
export function* isAnyAhead(nowMs: number): Work<boolean> {
  return (yield* query(selectAnyAhead, [aheadOf(nowMs)])).length > 0;
}

export function* presentMs({ selectNow }: OwnStatements, nowMs: number): Work<number> {
  const [row] = yield* query<{ now: number }>(selectNow, [nowMs]);
  return row?.now ?? nowMs;
}

function detailOf({ accounts, keys, fromMs }: ClockReturn): string {
  return `a clock was ahead, up to ${dateOfDay(utcDay(fromMs))}: ${plural(accounts, "account")} and ${plural(keys, "key")} returned to the present`;
}

interface ChargedRow {
  readonly no: number;
  readonly startMs: number;
  readonly laterUsed: string | null;
  /** What is charged in its present period and in each later one. */
  readonly charged: string | null;
}

/** The new totals of what returns, as JSON. */
function* presentUse(text: string, parameters: readonly Parameter[]): Work<string> {
  const rows = yield* query<ChargedRow>(text, parameters);
  return JSON.stringify(
    rows.map(({ no, startMs, laterUsed, charged }) => {
      const { used, later } = returnTo(startMs, laterUseOf(charged), laterUseOf(laterUsed));
      return { no, startMs, used, later: laterUseText(later) };
    }),
  );
}

function* numbers(text: string, parameters: readonly Parameter[]): Work<number[]> {
  return (yield* query<{ no: number }>(text, parameters)).map(({ no }) => no);
}

const selectAnyAhead = `
SELECT 1 WHERE EXISTS (SELECT 1 FROM accounts WHERE counted_at_ms > $1::int8 OR period_start_ms > $1::int8)
  OR EXISTS (SELECT 1 FROM caps WHERE period_start_ms > $1::int8) OR EXISTS (SELECT 1 FROM holds WHERE counted_at_ms > $1::int8)
  OR EXISTS (SELECT 1 FROM key_sums WHERE day::int8 * 86400000 > $1::int8)`;

/** Locked in the same order as by charges: accounts first, by number. */
const aheadAccounts = `
SELECT no FROM accounts WHERE counted_at_ms > $1::int8 OR period_start_ms > $1::int8
  OR no IN (SELECT account_no FROM caps WHERE account_no IS NOT NULL AND period_start_ms > $1::int8)
  OR no IN (SELECT coalesce(account_no, key_no) FROM holds WHERE counted_at_ms > $1::int8)
ORDER BY no FOR NO KEY UPDATE`;

const aheadKeys = `
SELECT key_no AS no FROM key_sums WHERE day::int8 * 86400000 > $1::int8
  OR key_no IN (SELECT key_no FROM caps WHERE key_no IS NOT NULL AND period_start_ms > $1::int8)
  OR key_no IN (SELECT key_no FROM holds WHERE counted_at_ms > $1::int8)
ORDER BY key_no FOR NO KEY UPDATE`;

const selectLatest = `SELECT max(counted_at_ms)::float8 AS "latestMs" FROM accounts`;

/** The current period of a budget. One that never resets stays in its period. */
const presentOf = (table: string) => `least(${table}.period_start_ms,
  CASE WHEN ${table}.period = 'none' THEN sluice_period_start('day', $2::int8) ELSE sluice_period_start(${table}.period, $2::int8) END)`;

/** Running requests are charged to the present. */
const returnHolds = `
UPDATE holds SET counted_at_ms = $1::int8, period_start_ms = least(holds.period_start_ms,
  CASE WHEN a.period = 'none' THEN sluice_period_start('day', $1::int8) ELSE sluice_period_start(a.period, $1::int8) END)
FROM accounts a
WHERE a.no = coalesce(holds.account_no, holds.key_no) AND holds.counted_at_ms > $1::int8`;

const chargedUse = "json_agg(json_build_object('at', c.at, 'used', c.used)) FILTER (WHERE c.at IS NOT NULL)";

const returnAccounts = `
UPDATE accounts SET counted_at_ms = least(accounts.counted_at_ms, $2::int8) WHERE no = ANY ($1::int8[])`;

const chargedBudgets = `
SELECT a.no, a.start_ms::float8 AS "startMs", a.later_used AS "laterUsed", CAST(${chargedUse} AS text) AS charged
FROM (
  SELECT no, ${presentOf("accounts")} AS start_ms, later_used FROM accounts
  WHERE no = ANY ($1::int8[]) AND period_start_ms > ${presentOf("accounts")}
) AS a LEFT JOIN (
  SELECT account_no, period_start_ms AS at, sum(amount) AS used FROM counted_charges WHERE period_start_ms > 0 GROUP BY account_no, period_start_ms
) AS c ON c.account_no = a.no AND c.at >= a.start_ms
GROUP BY a.no, a.start_ms, a.later_used`;

const returnBudgets = `
UPDATE accounts SET period_start_ms = (l.value ->> 'startMs')::int8, period_used = (l.value ->> 'used')::int8, later_used = l.value ->> 'later'
FROM json_array_elements(($1::text)::json) AS l WHERE accounts.no = (l.value ->> 'no')::int8`;

const capStart = "sluice_period_start(caps.period, $3::int8)";

const countedBy = (owner: "key_no" | "account_no", owners: string) => `
  SELECT caps.no, sluice_period_start(caps.period, c.counted_at_ms) AS at, c.amount FROM caps JOIN counted_charges c ON c.${owner} = caps.${owner}
  WHERE caps.${owner} = ANY (${owners}) AND c.counted_at_ms >= ${capStart} AND ${countsModel("caps.models", "c")}`;

const chargedCaps = `
SELECT a.no, a.start_ms::float8 AS "startMs", a.later_used AS "laterUsed", CAST(${chargedUse} AS text) AS charged
FROM (
  SELECT no, ${capStart} AS start_ms, later_used FROM caps
  WHERE (account_no = ANY ($1::int8[]) OR key_no = ANY ($2::int8[])) AND period_start_ms > ${capStart}
) AS a LEFT JOIN (
  SELECT no, at, sum(amount) AS used FROM (
    ${countedBy("account_no", "$1::int8[]")} UNION ALL ${countedBy("key_no", "$2::int8[]")}
  ) AS counted GROUP BY no, at
) AS c ON c.no = a.no
GROUP BY a.no, a.start_ms, a.later_used`;

/** The extra amount of a future period applies to the current one. */
const returnCaps = `
UPDATE caps SET period_start_ms = (l.value ->> 'startMs')::int8, used = (l.value ->> 'used')::int8, later_used = l.value ->> 'later',
  extra_period_ms = least(caps.extra_period_ms, (l.value ->> 'startMs')::int8)
FROM json_array_elements(($1::text)::json) AS l WHERE caps.no = (l.value ->> 'no')::int8`;

const laterThan = (start: string) =>
  `json_agg(json_build_object('at', c.at, 'used', c.used)) FILTER (WHERE c.at > ${start})`;

/** A day's spend is the sum of its own charges, as in reports. */
const returnKeys = `
UPDATE key_sums SET day = $2::int, day_spend = present.spend, later_spend = present.later
FROM (
  SELECT a.no, coalesce(sum(c.used) FILTER (WHERE c.at = $2::int8), 0) AS spend, CAST(${laterThan("$2::int8")} AS text) AS later
  FROM (SELECT key_no AS no FROM key_sums WHERE key_no = ANY ($1::int8[]) AND day > $2::int) AS a LEFT JOIN (
    SELECT key_no, day AS at, sum(amount) AS used FROM counted_charges WHERE key_no = ANY ($1::int8[]) AND day >= $2::int8
    GROUP BY key_no, day
  ) AS c ON c.key_no = a.no
  GROUP BY a.no
) AS present WHERE present.no = key_sums.key_no`;

const reviseAccounts = `
UPDATE accounts SET account_revision = $1::int8 WHERE no = ANY ($2::int8[]) AND no IN (SELECT account_no FROM caps WHERE account_no IS NOT NULL)`;

const reviseKeys = `
UPDATE keys SET revision = $1::int8 WHERE no = ANY ($2::int8[]) AND no IN (SELECT key_no FROM caps WHERE key_no IS NOT NULL)`;
