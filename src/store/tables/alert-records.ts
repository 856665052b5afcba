import { msPerHour } from "../../base/clock.ts";
import type { AlertPost, AlertRecords, BegunAlert, ExpiringKey, Overrun } from "../alert-records.ts";
import { type Queries, query } from "../query.ts";
import { readDrawnBounds } from "../reporting/drawn-bounds.ts";

/** Of each kind. A list that is longer is read by no one, and each is an alert. */
export const mostFound = 1_000;

/** From the sums of all keys, and what they do not count yet: both are few rows. */
const selectOverrun = `
SELECT coalesce(sum(overrun_nano), 0)::float8 AS nano, coalesce(sum(overrun_tokens), 0)::float8 AS tokens FROM (
  SELECT overrun_nano, overrun_tokens FROM usage_all_hours WHERE hour >= $1
  UNION ALL SELECT overrun_nano, overrun_tokens FROM uncounted_usage WHERE +at_ms >= $2
) sums`;

/** For a store that one gateway uses: there is no other to send them. */
export function storedAlerts({ read, change, changeTogether }: Queries): AlertRecords {
  return {
    drawnBounds: (nowMs) => readDrawnBounds(read, nowMs, mostFound),

    async expiringKeys(afterMs, throughMs) {
      const range = [afterMs, throughMs];
      const expiring =
        "FROM keys WHERE status = 'active' AND expires_at_ms > $1::int8 AND expires_at_ms <= $2::int8";
      const listed = await read<ExpiringKey>(
        `SELECT id, prefix, label, expires_at_ms::float8 AS "expiresAtMs" ${expiring} ORDER BY expires_at_ms, no LIMIT ${mostFound}`,
        range,
      );
      if (listed.length < mostFound) return { listed, more: 0 };
      const [all] = await read<{ count: number }>(`SELECT count(*)::float8 AS count ${expiring}`, range);
      return { listed, more: Math.max(0, (all?.count ?? 0) - listed.length) };
    },

    async overrunSince(sinceMs) {
      const hour = Math.floor(sinceMs / msPerHour);
      const [sum] = await read<Overrun>(selectOverrun, [hour, hour * msPerHour]);
      return sum ?? { nano: 0, tokens: 0 };
    },

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

    begun: () => read<BegunAlert>("SELECT id, level, finding FROM alerts"),

    recordAlerts: ({ begun, ended, posts }) =>
      changeTogether(function* () {
        for (const { id, level, finding } of begun) {
          yield* query(
            `INSERT INTO alerts (id, level, finding) VALUES ($1::text, $2::int, $3::text)
            ON CONFLICT (id) DO UPDATE SET level = excluded.level, finding = excluded.finding`,
            [id, level, finding],
          );
        }
        yield* query("DELETE FROM alerts WHERE id = ANY ($1::text[])", [ended]);
        for (const { alertId, body, madeAtMs } of posts) {
          yield* query(
            "INSERT INTO alert_posts (alert_id, body, made_at_ms, due_at_ms) VALUES ($1::text, $2::text, $3::int8, $3::int8)",
            [alertId, body, madeAtMs],
          );
        }
      }),

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
