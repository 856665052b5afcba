import type { BatchQuery, BatchRecord, BatchRecords } from "../batch-records.ts";
import { type Queries, query } from "../query.ts";
import { type BatchRow, batchSearch, selectBatches, stored } from "./batch-search.ts";
import { hideFile, isOwned, lockedQuota, minStoredBytes, type StoreCreation } from "./file-table.ts";
import { type LineStatements, storedLines } from "./line-table.ts";
import { raiseRevision } from "./revision.ts";
import { firstAs } from "./rows.ts";

export function storedBatches(
  queries: Queries,
  own: LineStatements,
  storeCreation: StoreCreation,
): BatchRecords {
  const { read, change, changeTogether } = queries;
  return {
    ...storedLines(queries, own),
    ...batchSearch(queries),
    ...batchDeletion(queries, own),

    begin: ({ id, keyId, fileId, endpoint, request, createdAtMs, expiresAtMs }, { node, maxOpen, quota }) =>
      changeTogether(function* () {
        const bytes = Math.max(Buffer.byteLength(request), minStoredBytes);
        const problem = yield* lockedQuota({ keyId, bytes }, quota, "batches");
        if (problem !== null) return problem;
        const begun = yield* query(insertBatch, [
          ...[id, keyId, fileId, endpoint, request, createdAtMs, expiresAtMs, node, maxOpen, bytes],
        ]);
        return begun.length > 0 ? null : "open";
      }),

    start: (batchId, { total, estimate, request }, atMs, retry) =>
      changeTogether(function* () {
        yield* raiseRevision();
        yield* query(
          `UPDATE batches SET status = 'in_progress', total = $2::int8, estimate = $3::int8, in_progress_at_ms = $4::int8, request = $5::text WHERE id = $1::text`,
          [batchId, total, estimate, atMs, request],
        );
        if (retry !== null) yield* storeCreation(retry);
      }),

    fail: (batchId, { errors, atMs, keptUntilMs }, retry) =>
      changeTogether(function* () {
        yield* query(
          `UPDATE batches SET status = 'failed', errors = $2::text, own_bytes = own_bytes + $5::int8, ended_at_ms = $3::int8, kept_until_ms = $4::int8 WHERE id = $1::text`,
          [batchId, errors, atMs, keptUntilMs, Buffer.byteLength(errors)],
        );
        if (retry !== null) yield* storeCreation(retry);
      }),

    find: (owner, id) =>
      read<BatchRow>(`${selectBatches} WHERE b.id = $1::text AND ${isOwned("b", owner, "$2")}`, [
        id,
        owner.keyId,
      ]).then(firstAs(stored)),

    list: (asked) => listed(read, asked),

    cancel: (keyId, id, atMs) =>
      changeTogether(function* () {
        yield* raiseRevision();
        const cancelled = yield* query(
          `UPDATE batches SET status = 'cancelling', cancelling_at_ms = coalesce(cancelling_at_ms, $3::int8), waits_for = NULL, waits_since_ms = NULL
          WHERE id = $1::text AND key_no = (SELECT no FROM keys WHERE id = $2::text) AND ended_at_ms IS NULL AND status <> 'validating' RETURNING id`,
          [id, keyId, atMs],
        );
        return cancelled.length > 0;
      }),

    async open() {
      const rows = await read<BatchRow>(
        `${selectBatches} WHERE b.ended_at_ms IS NULL AND b.status <> 'validating' ORDER BY b.no`,
      );
      return rows.map(stored);
    },

    async wait(batchId, waitsFor, atMs) {
      await change(
        `UPDATE batches SET waits_for = $2::text, waits_since_ms = CASE WHEN $2::text IS NULL THEN NULL ELSE coalesce(waits_since_ms, $3::int8) END
        WHERE id = $1::text AND status = 'in_progress'`,
        [batchId, waitsFor, atMs],
      );
    },
  };
}

/** For a copy: the lines may have run since. */
export const pauseBatches = "UPDATE batches SET is_paused = 1 WHERE ended_at_ms IS NULL";

const insertBatch = `
INSERT INTO batches (id, key_no, account_no, file_id, endpoint, request, status, created_at_ms, expires_at_ms, node_no, own_bytes)
SELECT $1::text, no, account_no, $3::text, $4::text, $5::text, 'validating', $6::int8, $7::int8, $8::int8, $10::int8 FROM keys
WHERE keys.id = $2::text AND (SELECT count(*) FROM batches WHERE ended_at_ms IS NULL AND key_no = keys.no) < $9::int8 RETURNING id`;

async function listed(
  read: Queries["read"],
  { owner, prefix, limit, after, before }: BatchQuery,
): Promise<readonly BatchRecord[] | null> {
  const named = after ?? before;
  const [place] =
    named === null
      ? []
      : await read<{ no: number }>(
          `SELECT b.no::float8 AS no FROM batches b JOIN keys k ON k.no = b.key_no WHERE b.id = $1::text AND ${isOwned("b", owner, "$2")}`,
          [named, owner.keyId],
        );
  if (named !== null && place === undefined) return null;
  const isBefore = after === null && before !== null;
  const rows = await read<BatchRow>(
    `${selectBatches} WHERE ${isOwned("b", owner, "$1")} AND b.id LIKE $2::text AND b.no ${isBefore ? ">" : "<"} $3::int8
    ORDER BY b.no ${isBefore ? "ASC" : "DESC"} LIMIT $4::int8`,
    [owner.keyId, `${prefix}%`, place?.no ?? Number.MAX_SAFE_INTEGER, limit],
  );
  return (isBefore ? rows.toReversed() : rows).map(stored);
}

/** Deletes batches that clients delete, or that are too old. */
function batchDeletion(
  { read, changeTogether }: Queries,
  { isAbandoned }: LineStatements,
): Pick<BatchRecords, "delete" | "outdated" | "abandoned"> {
  return {
    delete: (keyId, id) =>
      changeTogether(function* () {
        const [batch] = yield* query<{ no: number; fileId: string }>(
          `SELECT b.no::float8 AS no, b.file_id AS "fileId" FROM batches b JOIN keys k ON k.no = b.key_no WHERE b.id = $1::text AND k.id = $2::text`,
          [id, keyId],
        );
        if (batch === undefined) return;
        yield* query("DELETE FROM batches WHERE no = $1::int8", [batch.no]);
        yield* query("DELETE FROM files WHERE batch_id = $1::text", [id]);
        yield* query(`${hideFile} WHERE id = $1::text AND kind = 'requests'`, [batch.fileId]);
      }),

    outdated: (nowMs) =>
      read(
        `SELECT b.id, k.id AS "keyId" FROM batches b JOIN keys k ON k.no = b.key_no
        WHERE b.kept_until_ms <= $1::int8 OR (b.ended_at_ms IS NOT NULL AND k.status = 'revoked') LIMIT 100`,
        [nowMs],
      ),

    abandoned: (node, validating) =>
      read(
        `SELECT batches.id, k.id AS "keyId" FROM batches JOIN keys k ON k.no = batches.key_no
        WHERE batches.ended_at_ms IS NULL AND batches.status = 'validating' AND NOT (batches.id = ANY ($2::text[]))
          AND (batches.node_no = $1::int8 OR ${isAbandoned("batches")}) LIMIT 100`,
        [node, validating],
      ),
  };
}
