import { msPerDay, msPerHour, utcDay } from "../../base/clock.ts";
import { periodStarts } from "../../base/money/period.ts";
import type {
  AcknowledgedAlert,
  AlertPost,
  AlertRecords,
  DrawnBound,
  ExpiringKey,
  FiringAlert,
  NotedAlert,
  Overrun,
  PartialList,
  PastAlert,
} from "../alert-records.ts";
import { type Queries, type Query, query } from "../query.ts";
import type { ReportQueries } from "../reporting/stored-reports.ts";
import { readDrawnValues, readNearValues } from "./value-alerts.ts";

/** Maximum per kind. Longer lists are not readable, and each item is an alert. */
export const maxListed = 1_000;

/** From the totals of all keys and the rows they do not include yet: few rows each. */
const selectOverrun = `
SELECT coalesce(sum(overrun_nano), 0)::float8 AS nano, coalesce(sum(overrun_tokens), 0)::float8 AS tokens FROM (
  SELECT overrun_nano, overrun_tokens FROM usage_hours WHERE key_no = 0 AND hour >= $1
  UNION ALL SELECT overrun_nano, overrun_tokens FROM uncounted_usage WHERE +at_ms >= $2
) sums`;

/** For a store with one gateway, which always sends the alerts. */
export function storedAlerts(
  { read, change, changeTogether }: Queries,
  { read: scan, fold }: Pick<ReportQueries, "read" | "fold">,
): AlertRecords {
  return {
    async drawnBounds(nowMs) {
      await fold();
      return readDrawnBounds(scan, nowMs, maxListed);
    },

    drawnValues: (nowMs) => readDrawnValues(scan, nowMs),
    nearValues: (share, nowMs) => readNearValues(scan, share, nowMs),

    async expiringKeys(afterMs, throughMs) {
      const range = [afterMs, throughMs];
      const expiring =
        "FROM keys WHERE status = 'active' AND expires_at_ms > $1::int8 AND expires_at_ms <= $2::int8";
      const listed = await read<ExpiringKey>(
        `SELECT id, prefix, label, expires_at_ms::float8 AS "expiresAtMs" ${expiring} ORDER BY expires_at_ms, no LIMIT ${maxListed}`,
        range,
      );
      if (listed.length < maxListed) return { listed, more: 0 };
      const [all] = await read<{ count: number }>(`SELECT count(*)::float8 AS count ${expiring}`, range);
      return { listed, more: Math.max(0, (all?.count ?? 0) - listed.length) };
    },

    async overrunSince(sinceMs) {
      const hour = Math.floor(sinceMs / msPerHour);
      await fold();
      const [sum] = await scan<Overrun>(selectOverrun, [hour, hour * msPerHour]);
      return sum ?? { nano: 0, tokens: 0 };
    },

    async lostSignInsSince(sinceMs) {
      const [found] = await read<{ count: number }>(
        `SELECT count(*)::float8 AS count FROM signed_in_keys bound JOIN keys ON keys.id = bound.key_id
        WHERE bound.lost_at_ms >= $1::int8 AND bound.status_before = 'active' AND keys.status = 'suspended'`,
        [sinceMs],
      );
      return found?.count ?? 0;
    },

    async reusedSignInsSince(sinceMs) {
      const [found] = await read<{ count: number }>(
        "SELECT count(*)::float8 AS count FROM sign_ins WHERE end_reason = 'reused' AND ended_at_ms >= $1::int8",
        [sinceMs],
      );
      return found?.count ?? 0;
    },

    async modelsRequestedSince(sinceMs) {
      const hour = Math.floor(sinceMs / msPerHour);
      await fold();
      const rows = await scan<{ model: string }>(
        `SELECT model FROM usage_hours WHERE key_no = 0 AND hour >= $1
        UNION SELECT model FROM uncounted_usage WHERE +at_ms >= $2`,
        [hour, hour * msPerHour],
      );
      return new Set(rows.map(({ model }) => model));
    },

    async acknowledge({ kind, actor, untilMs }) {
      await change(
        `INSERT INTO acknowledged_alerts (kind, actor, until_ms) VALUES ($1, $2, $3::int8)
        ON CONFLICT (kind) DO UPDATE SET actor = excluded.actor, until_ms = excluded.until_ms`,
        [kind, actor, untilMs],
      );
    },

    acknowledged: (nowMs) =>
      read<AcknowledgedAlert>(
        `SELECT kind, actor, until_ms::float8 AS "untilMs" FROM acknowledged_alerts WHERE until_ms > $1::int8`,
        [nowMs],
      ),

    async publish(source, findings, nowMs, untilMs) {
      await change(
        `INSERT INTO findings (source, findings, until_ms) VALUES ($1, $2, $3::int8)
        ON CONFLICT (source) DO UPDATE SET findings = excluded.findings, until_ms = excluded.until_ms`,
        [source, findings, untilMs],
      );
      await change("DELETE FROM findings WHERE until_ms <= $1::int8", [nowMs]);
    },

    async published(nowMs) {
      const rows = await read<{ findings: string }>(
        "SELECT findings FROM findings WHERE until_ms > $1::int8 ORDER BY source",
        [nowMs],
      );
      return rows.map(({ findings }) => findings);
    },

    lead: async () => true,

    firing: () => read<FiringAlert>("SELECT id, level, finding FROM alerts"),

    recordAlerts: ({ fired, resolved, posts }) =>
      changeTogether(function* () {
        for (const { id, level, finding } of fired) {
          yield* query(
            `INSERT INTO alerts (id, level, finding) VALUES ($1::text, $2::int, $3::text)
            ON CONFLICT (id) DO UPDATE SET level = excluded.level, finding = excluded.finding`,
            [id, level, finding],
          );
        }
        yield* query("DELETE FROM alerts WHERE id = ANY ($1::text[])", [resolved]);
        for (const { alertId, body, madeAtMs } of posts) {
          yield* query(
            "INSERT INTO alert_posts (alert_id, body, made_at_ms, due_at_ms) VALUES ($1::text, $2::text, $3::int8, $3::int8)",
            [alertId, body, madeAtMs],
          );
        }
      }),

    noteActive: (active, nowMs) =>
      changeTogether(function* () {
        const open = yield* query<NotedAlert>("SELECT id, alert FROM past_alerts WHERE ended_at_ms IS NULL");
        const known = new Map(open.map(({ id, alert }) => [id, alert]));
        for (const { id, alert } of active) {
          if (!known.has(id)) {
            const text =
              "INSERT INTO past_alerts (id, alert, began_at_ms) VALUES ($1::text, $2::text, $3::int8)";
            yield* query(text, [id, alert, nowMs]);
          } else if (known.get(id) !== alert) {
            const text =
              "UPDATE past_alerts SET alert = $2::text WHERE id = $1::text AND ended_at_ms IS NULL";
            yield* query(text, [id, alert]);
          }
          known.delete(id);
        }
        yield* query(
          "UPDATE past_alerts SET ended_at_ms = $1::int8 WHERE ended_at_ms IS NULL AND id = ANY ($2::text[])",
          [nowMs, [...known.keys()]],
        );
        yield* query("DELETE FROM past_alerts WHERE ended_at_ms < $1::int8", [
          nowMs - pastAlertDays * msPerDay,
        ]);
        yield* query(
          `DELETE FROM past_alerts WHERE ended_at_ms IS NOT NULL
            AND no <= (SELECT coalesce(max(no), 0) FROM past_alerts) - $1::int8`,
          [maxPastAlerts],
        );
      }),

    listPast: (limit) =>
      read<PastAlert>(
        `SELECT id, alert, began_at_ms::float8 AS "beganAtMs", ended_at_ms::float8 AS "endedAtMs" FROM past_alerts
        WHERE ended_at_ms IS NOT NULL ORDER BY ended_at_ms DESC, no DESC LIMIT $1::int8`,
        [limit],
      ),

    duePosts: (nowMs, limit) =>
      read<AlertPost>(
        `SELECT no::float8 AS no, alert_id AS "alertId", body, made_at_ms::float8 AS "madeAtMs" FROM alert_posts AS post
        WHERE due_at_ms <= $1::int8
          AND NOT EXISTS (SELECT 1 FROM alert_posts AS earlier WHERE earlier.alert_id = post.alert_id AND earlier.no < post.no)
        ORDER BY no LIMIT $2::int8`,
        [nowMs, limit],
      ),

    async postponePost(no, dueAtMs) {
      await change("UPDATE alert_posts SET due_at_ms = $1::int8 WHERE no = $2::int8", [dueAtMs, no]);
    },

    async removePost(no) {
      await change("DELETE FROM alert_posts WHERE no = $1::int8", [no]);
    },
  };
}

const pastAlertDays = 90;
const maxPastAlerts = 1_000;

const hoursPerDay = msPerDay / msPerHour;
/** Number of accounts or caps that one statement examines. */
const perPiece = 5_000;

/**
 * Returns at most `limit` limits, as the list is for people. They are taken in the order of account numbers, so that
 * repeated calls return the same ones.
 */
async function readDrawnBounds(read: Query, nowMs: number, limit: number): Promise<PartialList<DrawnBound>> {
  const listed: DrawnBound[] = [];
  let more = 0;
  const [numbers] = await read<{ last: number | null }>(
    `SELECT max(no)::float8 AS last FROM (SELECT max(no) AS no FROM accounts UNION ALL SELECT max(no) FROM caps) numbers`,
  );
  const last = numbers?.last ?? 0;
  for (let first = 1; first <= last; first += perPiece) {
    const parameters = [...drawnBoundsParameters(nowMs), first, first + perPiece - 1];
    if (listed.length < limit) {
      const bounds = await read<DrawnBound>(drawnBoundsSql, parameters);
      const room = limit - listed.length;
      listed.push(...bounds.slice(0, room));
      more += Math.max(0, bounds.length - room);
    } else {
      const [piece] = await read<{ count: number }>(countBoundsSql, parameters);
      more += piece?.count ?? 0;
    }
  }
  return { listed, more };
}

/** The parameters of `drawnBoundsSql`, in order, without the range of numbers that follows. */
function drawnBoundsParameters(nowMs: number): [number, number, number, number, number] {
  const [day = 0, week = 0, month = 0] = periodStarts(nowMs);
  return [nowMs, day, week, month, (utcDay(nowMs) - 6) * hoursPerDay];
}

/**
 * Reads only accounts and caps where possible. Hours of usage are read only for accounts that may run out within a
 * week: nearly half used, or younger than a week.
 */
const drawnBoundsSql = writeDrawnBounds();
const countBoundsSql = `SELECT count(*)::float8 AS count FROM (${drawnBoundsSql}) AS bounds`;

function writeDrawnBounds(): string {
  const [now, day, week, month, since, first, last] = [1, 2, 3, 4, 5, 6, 7].map((no) => `$${no}::int8`);
  const isInPiece = (table: string) => `${table}.no BETWEEN ${first} AND ${last}`;
  const isCurrent = (table: string) => `${table}.period_start_ms >=
    CASE ${table}.period WHEN 'day' THEN ${day} WHEN 'week' THEN ${week} WHEN 'month' THEN ${month} ELSE 0 END`;
  const isUsable = `accounts.closed_at_ms IS NULL
  AND (keys.no IS NULL OR (keys.status = 'active' AND (keys.expires_at_ms IS NULL OR keys.expires_at_ms > ${now})))`;
  const age = `(${now} - accounts.created_at_ms)`;
  const share = `(CASE WHEN ${age} >= ${6 * msPerDay} THEN 6.0 / 7 WHEN ${age} <= ${msPerDay} THEN 1.0 / 7 ELSE ${age} / ${7 * msPerDay}.0 END)`;
  const capLimit =
    "caps.amount + CASE WHEN caps.extra_period_ms = caps.period_start_ms THEN caps.extra ELSE 0 END";
  const shared = `accounts.mode, accounts.id AS "accountId", accounts.account_label AS "accountLabel", keys.id AS "keyId", keys.prefix, keys.label`;
  return `
SELECT CASE accounts.mode WHEN 'credit' THEN 'balance' ELSE 'budget' END AS bound, ${shared},
  (CASE accounts.mode WHEN 'credit' THEN accounts.purchased ELSE accounts.budget_tokens END)::float8 AS "limit",
  (CASE accounts.mode WHEN 'credit' THEN accounts.used ELSE accounts.period_used END)::float8 AS used,
  accounts.period AS period, NULL AS models, NULL AS "capNo", accounts.created_at_ms::float8 AS "createdAtMs",
  (SELECT coalesce(sum(CASE accounts.mode WHEN 'credit' THEN hours.spend_nano ELSE hours.spend_tokens END), 0) FROM keys AS drawing
    JOIN usage_hours AS hours ON hours.key_no = drawing.no AND hours.hour >= ${since} WHERE drawing.account_no = accounts.no)::float8 AS "recentlyUsed"
FROM accounts LEFT JOIN keys ON keys.no = accounts.no AND keys.account_no = accounts.no
  AND (SELECT count(*) FROM keys AS drawing WHERE drawing.account_no = accounts.no) = 1
WHERE ${isInPiece("accounts")} AND ${isUsable} AND (
  (accounts.mode = 'credit' AND accounts.is_open = 0 AND accounts.purchased > 0 AND accounts.used >= accounts.posted * ${share})
  OR (accounts.mode = 'token_budget' AND accounts.budget_tokens > 0 AND ${isCurrent("accounts")}
    AND accounts.period_used >= (accounts.budget_tokens - accounts.period_used) * ${share}))
UNION ALL
SELECT CASE WHEN caps.key_no IS NULL THEN 'account_cap' ELSE 'key_cap' END, ${shared},
  (${capLimit})::float8, caps.used::float8, caps.period, caps.models, caps.no, accounts.created_at_ms::float8, 0
FROM caps LEFT JOIN keys ON keys.no = caps.key_no JOIN accounts ON accounts.no = coalesce(caps.account_no, keys.account_no)
WHERE ${isInPiece("caps")} AND ${isUsable} AND ${isCurrent("caps")} AND caps.used * 5 >= (${capLimit}) * 4`;
}
