import { nextLoopIteration } from "../../base/loop/pacer.ts";
import type { BatchOwner, FileQuery, FileRecord, FileRecords, RetriedCreation } from "../file-records.ts";
import { type Queries, query, type Work } from "../query.ts";
import { first, firstAs } from "./rows.ts";

/** What each database does in its own way. */
interface FileStatements extends Pick<FileRecords, "freeBytes"> {
  readonly storeCreation: StoreCreation;
}

export function storedFiles(
  { read, change, changeTogether }: Queries,
  { storeCreation, freeBytes }: FileStatements,
): FileRecords {
  return {
    freeBytes,

    async begin({ id, keyId, kind, name, bytes, batchId, createdAtMs, expiresAtMs }) {
      await change(insertFile, [id, keyId, kind, name, bytes, batchId, createdAtMs, expiresAtMs]);
    },

    async addPart(id, sequence, body) {
      await change("INSERT INTO file_parts (file_id, sequence, body) VALUES ($1::text, $2::int8, $3)", [
        id,
        sequence,
        body,
      ]);
    },

    complete: ({ id, keyId, kind, name, bytes, expiresAtMs }, bytesPerKey, retry) =>
      changeTogether(function* () {
        // One after the other, so that each sees what the others have stored.
        yield* query("SELECT no FROM keys WHERE id = $1::text FOR NO KEY UPDATE", [keyId]);
        const completed = yield* query(
          `UPDATE files SET kind = $2::text, name = $3::text, bytes = $4::int8, expires_at_ms = $5::int8
          WHERE id = $1::text AND ${bytesOfKey("files.key_no")} + $4::int8 <= $6::int8 RETURNING id`,
          [id, kind, name, bytes, expiresAtMs, bytesPerKey],
        );
        if (completed.length === 0) return false;
        if (retry !== null) yield* storeCreation(retry);
        return true;
      }),

    find: (owner, id) =>
      read<FileRecord>(
        `${selectFiles} WHERE f.id = $1::text AND ${isOwned(owner, "$2")} AND f.kind <> 'uploading'`,
        [id, owner.keyId],
      ).then(first),

    list: (query) => listed(read, query),

    part: (id, sequence) =>
      read<{ body: Uint8Array }>(
        "SELECT body FROM file_parts WHERE file_id = $1::text AND sequence = $2::int8",
        [id, sequence],
      ).then(firstAs(({ body }) => body)),

    async bytesOf(keyId) {
      const [row] = await read<{ bytes: number }>(selectBytes, [keyId]);
      return row?.bytes ?? 0;
    },

    usedBy: (id) =>
      read<{ id: string }>(
        "SELECT id FROM batches WHERE file_id = $1::text AND ended_at_ms IS NULL LIMIT 1",
        [id],
      ).then(firstAs((batch) => batch.id)),

    async delete(keyId, id) {
      const hidden = await change(
        `${hideFile} WHERE id = $1::text AND key_no = (SELECT no FROM keys WHERE id = $2::text) AND NOT ${isUsed} RETURNING id`,
        [id, keyId],
      );
      if (hidden.length > 0) await deleteHidden(change, id);
      return hidden.length > 0;
    },

    expiredResults: (nowMs) =>
      read(
        `${selectFiles} WHERE f.batch_id IS NOT NULL AND f.expires_at_ms BETWEEN 1 AND $1::int8 LIMIT ${prunedAtOnce}`,
        [nowMs],
      ),

    async prune(nowMs) {
      const pruned = await read<{ id: string }>(
        `SELECT id FROM files WHERE batch_id IS NULL AND NOT ${isUsed}
          AND (expires_at_ms <= $1::int8 OR key_no IN (SELECT no FROM keys WHERE status = 'revoked'))
        LIMIT ${prunedAtOnce}`,
        [nowMs],
      );
      for (const { id } of pruned) await deleteHidden(change, id);
      return pruned.length;
    },
  };
}

const prunedAtOnce = 20;

/** From now on it is only deleted: here, or with what has expired. */
export const hideFile = "UPDATE files SET kind = 'uploading', bytes = 0, expires_at_ms = 0";

/** Some parts at a time: 256 MB take a second. */
async function deleteHidden(change: Queries["change"], id: string): Promise<void> {
  const deleteParts = `DELETE FROM file_parts WHERE file_id = $1::text
    AND sequence IN (SELECT sequence FROM file_parts WHERE file_id = $1::text LIMIT ${partsAtOnce}) RETURNING sequence`;
  while ((await change(deleteParts, [id])).length === partsAtOnce) await nextLoopIteration();
  await change("DELETE FROM files WHERE id = $1::text", [id]);
}

const partsAtOnce = 4;

const isUsed = "EXISTS (SELECT 1 FROM batches b WHERE b.file_id = files.id AND b.ended_at_ms IS NULL)";

const insertFile = `
INSERT INTO files (id, key_no, kind, name, bytes, batch_id, created_at_ms, expires_at_ms)
SELECT $1::text, no, $3::text, $4::text, $5::int8, $6::text, $7::int8, $8::int8 FROM keys WHERE keys.id = $2::text`;

const selectFiles = `
SELECT f.id, k.id AS "keyId", f.kind, f.name, f.bytes::float8 AS bytes, f.batch_id AS "batchId", f.created_at_ms::float8 AS "createdAtMs",
  f.expires_at_ms::float8 AS "expiresAtMs" FROM files f JOIN keys k ON k.no = f.key_no`;

/** Results of open batches count, too. */
function bytesOfKey(keyNo: string): string {
  return `(coalesce((SELECT sum(f.bytes) FROM files f WHERE f.key_no = ${keyNo} AND f.batch_id IS NULL), 0)
  + coalesce((SELECT sum(b.output_bytes + b.error_bytes) FROM batches b WHERE b.key_no = ${keyNo}), 0))`;
}

const selectBytes = `SELECT ${bytesOfKey("keys.no")}::float8 AS bytes FROM keys WHERE id = $1::text`;

async function listed(
  read: Queries["read"],
  { owner, kinds, limit, after, isAscending, nowMs }: FileQuery,
): Promise<readonly FileRecord[] | null> {
  const ofOwner = isOwned(owner, "$1");
  const [place] =
    after === null
      ? []
      : await read<{ no: number }>(`${selectPlace} WHERE ${ofOwner} AND f.id = $2::text`, [
          owner.keyId,
          after,
        ]);
  if (after !== null && place === undefined) return null;
  const [compare, order, ends] = isAscending ? [">", "ASC", 0] : ["<", "DESC", Number.MAX_SAFE_INTEGER];
  return read<FileRecord>(
    `${selectFiles} WHERE ${ofOwner} AND f.kind = ANY ($2::text[]) AND f.no ${compare} $3::int8 AND f.expires_at_ms > $5::int8
    ORDER BY f.no ${order} LIMIT $4::int8`,
    [owner.keyId, kinds, place?.no ?? ends, limit, nowMs],
  );
}

const selectPlace = "SELECT f.no::float8 AS no FROM files f JOIN keys k ON k.no = f.key_no";

/** A condition over `keys AS k`. `parameter` is the placeholder of the key's id. */
export function isOwned({ withAccount }: Pick<BatchOwner, "withAccount">, parameter: string): string {
  if (!withAccount) return `k.id = ${parameter}::text`;
  return `k.account_no = (SELECT account_no FROM keys WHERE id = ${parameter}::text)`;
}

/** Stores what a retry gets, in the transaction that creates it. Throws if another process holds the claim now. */
export type StoreCreation = (retry: RetriedCreation) => Work<void>;
