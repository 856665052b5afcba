import type { FeedPush, FeedPushRecords } from "../feed-records.ts";
import type { Queries } from "../query.ts";
import { any, first, firstAs } from "./rows.ts";

const selectState = `
SELECT through_id::float8 AS "throughId", accepted_at_ms::float8 AS "acceptedAtMs", pending_id::float8 AS "pendingId", attempts::float8 AS attempts,
  due_at_ms::float8 AS "dueAtMs", problem, stopped_at_ms::float8 AS "stoppedAtMs", stopped_for AS "stoppedFor"
FROM feed_push`;

const undisturbed = "attempts = 0, due_at_ms = 0, problem = NULL, stopped_at_ms = NULL, stopped_for = NULL";

export function storedPush({ read, change }: Pick<Queries, "read" | "change">): FeedPushRecords {
  return {
    state: () => read<FeedPush>(selectState).then(first),

    async begin(throughId, nowMs) {
      await change(
        "INSERT INTO feed_push (id, through_id, accepted_at_ms) VALUES (1, $1::int8, $2::int8) ON CONFLICT (id) DO NOTHING",
        [throughId, nowMs],
      );
    },

    prepare: ({ afterId, pendingId, body }) =>
      change(
        `UPDATE feed_push SET pending_id = $2::int8, body = $3::text, ${undisturbed}
        WHERE through_id = $1::int8 AND pending_id IS NULL RETURNING id`,
        [afterId, pendingId, body],
      ).then(any),

    body: (pendingId) =>
      read<{ body: string }>("SELECT body FROM feed_push WHERE pending_id = $1::int8", [pendingId]).then(
        firstAs(({ body }) => body),
      ),

    async accept(pendingId, nowMs) {
      await change(
        `UPDATE feed_push SET through_id = pending_id, accepted_at_ms = $2::int8, pending_id = NULL, body = NULL, ${undisturbed}
        WHERE pending_id = $1::int8`,
        [pendingId, nowMs],
      );
    },

    async postpone(pendingId, dueAtMs, problem) {
      await change(
        `UPDATE feed_push SET attempts = attempts + 1, due_at_ms = $2::int8, problem = $3::text, stopped_at_ms = NULL, stopped_for = NULL
        WHERE pending_id = $1::int8`,
        [pendingId, dueAtMs, problem],
      );
    },

    async stop(pendingId, { atMs, problem, receiver }) {
      await change(
        `UPDATE feed_push SET attempts = attempts + 1, problem = $2::text, stopped_at_ms = $3::int8, stopped_for = $4::text
        WHERE pending_id = $1::int8`,
        [pendingId, problem, atMs, receiver],
      );
    },

    resume: () =>
      change(`UPDATE feed_push SET ${undisturbed} WHERE pending_id IS NOT NULL RETURNING id`).then(any),
  };
}
