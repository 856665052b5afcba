import type { FeedPush, FeedPushRecords, LedgerRestore } from "../feed-records.ts";
import { type Queries, type Query, query } from "../query.ts";
import { any, type Flagged, first, firstAs, unflagged } from "./rows.ts";

const selectState = `
SELECT through_id::float8 AS "throughId", accepted_at_ms::float8 AS "acceptedAtMs", pending_id::float8 AS "pendingId", attempts::float8 AS attempts,
  due_at_ms::float8 AS "dueAtMs", problem, stopped_at_ms::float8 AS "stoppedAtMs", stopped_for AS "stoppedFor"
FROM feed_push`;

const undisturbed = "attempts = 0, due_at_ms = 0, problem = NULL, stopped_at_ms = NULL, stopped_for = NULL";

/** What a copy notes that is about to replace a database. A post that was pending is composed again, to say so. */
export const noteRestore = [
  "INSERT INTO ledger_restores (at_ms, through_id) SELECT $1::int8, coalesce(max(id), 0) FROM entries",
  `UPDATE feed_push SET pending_id = NULL, body = NULL, ${undisturbed}`,
] as const;

export async function listRestores(read: Query): Promise<readonly LedgerRestore[]> {
  const rows = await read<Flagged<LedgerRestore, "isTold">>(
    `SELECT at_ms::float8 AS "atMs", through_id::float8 AS "throughId", is_told AS "isTold" FROM ledger_restores ORDER BY no DESC LIMIT 100`,
  );
  return rows.map((row) => unflagged(row, "isTold"));
}

export function storedPush({
  read,
  change,
  changeTogether,
}: Pick<Queries, "read" | "change" | "changeTogether">): FeedPushRecords {
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

    accept: (pendingId, nowMs) =>
      changeTogether(function* () {
        const accepted = yield* query(
          `UPDATE feed_push SET through_id = pending_id, accepted_at_ms = $2::int8, pending_id = NULL, body = NULL, ${undisturbed}
          WHERE pending_id = $1::int8 RETURNING id`,
          [pendingId, nowMs],
        );
        if (accepted.length > 0) yield* query("UPDATE ledger_restores SET is_told = 1 WHERE is_told = 0");
      }),

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
