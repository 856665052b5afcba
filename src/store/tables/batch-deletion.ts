import type { BatchRecords } from "../batch-records.ts";
import { type Queries, query } from "../query.ts";
import { hideFile } from "./file-table.ts";
import type { LineStatements } from "./line-table.ts";

/** Deletes batches that clients delete, or that are too old. */
export function batchDeletion(
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
        if (batch === undefined) return true;
        const gone = yield* query(deleteLines, [batch.no]);
        if (gone.length > 0) return false;
        yield* query("DELETE FROM batches WHERE no = $1::int8", [batch.no]);
        yield* query("DELETE FROM files WHERE batch_id = $1::text", [id]);
        yield* query(`${hideFile} WHERE id = $1::text AND kind = 'requests'`, [batch.fileId]);
        return true;
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

/** Some at a time: all of them would take a tenth of a second. */
const deleteLines = `
DELETE FROM batch_lines WHERE batch_no = $1::int8 AND no IN (SELECT no FROM batch_lines WHERE batch_no = $1::int8 LIMIT 2000) RETURNING no`;
