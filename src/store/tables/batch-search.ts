import type { BatchRecord, BatchRecords, BatchSearch } from "../batch-records.ts";
import { type Queries, query } from "../query.ts";
import { raiseRevision } from "./revision.ts";
import { type Flagged, firstAs, unflagged } from "./rows.ts";

/** What operators do with batches. */
export function batchSearch({
  read,
  changeTogether,
}: Queries): Pick<BatchRecords, "search" | "get" | "resume" | "countLines"> {
  return {
    async search({ keyId, state, limit, after }) {
      const [place] =
        after === null
          ? []
          : await read<{ no: number }>("SELECT no::float8 AS no FROM batches WHERE id = $1::text", [after]);
      if (after !== null && place === undefined) return null;
      const rows = await read<BatchRow>(
        `${selectBatches} WHERE b.no < $1::int8 AND ($2::text IS NULL OR k.id = $2::text) AND ${state === null ? "true" : hasState[state]}
        ORDER BY b.no DESC LIMIT $3::int8`,
        [place?.no ?? Number.MAX_SAFE_INTEGER, keyId, limit],
      );
      return rows.map(stored);
    },

    get: (id) => read<BatchRow>(`${selectBatches} WHERE b.id = $1::text`, [id]).then(firstAs(stored)),

    resume: (id) =>
      changeTogether(function* () {
        yield* raiseRevision();
        const resumed = yield* query(
          "UPDATE batches SET is_paused = 0 WHERE id = $1::text AND is_paused = 1 AND ended_at_ms IS NULL RETURNING id",
          [id],
        );
        return resumed.length > 0;
      }),

    async countLines() {
      const [row] = await read<{ waiting: number; running: number }>(selectLineCounts);
      return row ?? { waiting: 0, running: 0 };
    },
  };
}

const hasState = {
  open: "b.ended_at_ms IS NULL",
  ended: "b.ended_at_ms IS NOT NULL",
  paused: "b.ended_at_ms IS NULL AND b.is_paused = 1",
  waiting: "b.ended_at_ms IS NULL AND b.is_paused = 0 AND b.waits_for IS NOT NULL",
  running: "b.ended_at_ms IS NULL AND b.is_paused = 0 AND b.waits_for IS NULL",
} as const satisfies Readonly<Record<NonNullable<BatchSearch["state"]>, string>>;

const selectLineCounts = `
SELECT coalesce(sum(total - completed - failed), 0)::float8 - running AS waiting, running FROM batches,
  (SELECT count(*)::float8 AS running FROM batch_lines WHERE state = 1) AS r
WHERE ended_at_ms IS NULL AND status <> 'validating' GROUP BY running`;

export type BatchRow = Flagged<BatchRecord, "isPaused">;

export const selectBatches = `
SELECT b.id, k.id AS "keyId", k.prefix AS "keyPrefix", k.label AS "keyLabel", b.file_id AS "fileId", b.endpoint, b.request, b.status, b.errors, b.created_at_ms::float8 AS "createdAtMs",
  b.expires_at_ms::float8 AS "expiresAtMs", b.in_progress_at_ms::float8 AS "inProgressAtMs", b.cancelling_at_ms::float8 AS "cancellingAtMs",
  b.ended_at_ms::float8 AS "endedAtMs", b.total::float8 AS total, b.completed::float8 AS completed, b.failed::float8 AS failed, b.rest::float8 AS rest, b.estimate::float8 AS estimate, b.charged::float8 AS charged,
  b.input_tokens::float8 AS "inputTokens", b.cached_tokens::float8 AS "cachedTokens", b.output_tokens::float8 AS "outputTokens",
  b.reasoning_tokens::float8 AS "reasoningTokens", b.rest_code AS "restCode", b.waits_for AS "waitsFor",
  b.waits_since_ms::float8 AS "waitsSinceMs", b.is_paused AS "isPaused",
  (SELECT min(p.due_at_ms)::float8 FROM provider_batches p WHERE p.batch_no = b.no AND p.is_over = 0) AS "providerDueMs",
  (SELECT f.id FROM files f WHERE f.batch_id = b.id AND f.kind = 'output') AS "outputFileId",
  (SELECT f.id FROM files f WHERE f.batch_id = b.id AND f.kind = 'errors') AS "errorFileId"
FROM batches b JOIN keys k ON k.no = b.key_no`;

export function stored(row: BatchRow): BatchRecord {
  return unflagged(row, "isPaused");
}
