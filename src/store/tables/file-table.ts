import { nextLoopIteration } from "../../base/loop/pacer.ts";
import type {
  BatchOwner,
  FileQuery,
  FileQuota,
  FileRecord,
  FileRecords,
  ListedFile,
  QuotaProblem,
  RetriedCreation,
} from "../file-records.ts";
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
    ...uploads({ changeTogether }, storeCreation),

    find: (owner, id) =>
      read<FileRecord>(
        `${selectFiles} WHERE f.id = $1::text AND ${isOwned("f", owner, "$2")} AND f.kind <> 'uploading'`,
        [id, owner.keyId],
      ).then(first),

    list: (query) => listed(read, query),

    placeOf: (owner, id) =>
      read<{ no: number }>(`${selectPlace} WHERE ${isOwned("f", owner, "$1")} AND f.id = $2::text`, [
        owner.keyId,
        id,
      ]).then(firstAs(({ no }) => no)),

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

/** Writes inputs part by part. */
function uploads(
  { changeTogether }: Pick<Queries, "changeTogether">,
  storeCreation: StoreCreation,
): Pick<FileRecords, "begin" | "addPart" | "complete"> {
  return {
    begin: ({ id, keyId, kind, name, bytes, batchId, createdAtMs, expiresAtMs }, quota) =>
      changeTogether(function* () {
        const problem = yield* lockedQuota({ keyId }, quota, "files");
        if (problem !== null) return problem;
        yield* query(insertFile, [id, keyId, kind, name, bytes, batchId, createdAtMs, expiresAtMs]);
        return null;
      }),

    addPart: ({ fileId, sequence, body, bytes }, bytesPerKey) =>
      changeTogether(function* () {
        yield* query(
          `${lockKeyWhere} no = (SELECT key_no FROM files WHERE id = $1::text) FOR NO KEY UPDATE`,
          [fileId],
        );
        const counted = yield* query(
          `UPDATE files SET bytes = bytes + $2::int8
          WHERE id = $1::text AND expires_at_ms > 0 AND ${bytesOfKey("files.key_no")} + $2::int8 <= $3::int8 RETURNING id`,
          [fileId, bytes, bytesPerKey],
        );
        if (counted.length === 0) return false;
        yield* query("INSERT INTO file_parts (file_id, sequence, body) VALUES ($1::text, $2::int8, $3)", [
          fileId,
          sequence,
          body,
        ]);
        return true;
      }),

    complete: ({ id, kind, name, bytes, expiresAtMs }, retry) =>
      changeTogether(function* () {
        const completed = yield* query(
          `UPDATE files SET kind = $2::text, name = $3::text, bytes = $4::int8, expires_at_ms = $5::int8
          WHERE id = $1::text AND expires_at_ms > 0 RETURNING id`,
          [id, kind, name, bytes, expiresAtMs],
        );
        if (completed.length === 0) return false;
        if (retry !== null) yield* storeCreation(retry);
        return true;
      }),
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
INSERT INTO files (id, key_no, account_no, kind, name, bytes, batch_id, created_at_ms, expires_at_ms)
SELECT $1::text, no, account_no, $3::text, $4::text, $5::int8, $6::text, $7::int8, $8::int8 FROM keys WHERE keys.id = $2::text`;

const selectFiles = `
SELECT f.no::float8 AS no, f.id, k.id AS "keyId", f.kind, f.name, f.bytes::float8 AS bytes, f.batch_id AS "batchId", f.created_at_ms::float8 AS "createdAtMs",
  f.expires_at_ms::float8 AS "expiresAtMs" FROM files f JOIN keys k ON k.no = f.key_no`;

/** What the smallest file or batch counts. */
export const minStoredBytes = 1024;

/** Results of open batches count, too. What is hidden is being deleted. */
function bytesOfKey(keyNo: string): string {
  return `(coalesce((SELECT sum(CASE WHEN f.bytes < ${minStoredBytes} THEN ${minStoredBytes} ELSE f.bytes END) FROM files f
    WHERE f.key_no = ${keyNo} AND f.batch_id IS NULL AND f.expires_at_ms > 0), 0)
  + coalesce((SELECT sum(b.output_bytes + b.error_bytes + b.own_bytes) FROM batches b WHERE b.key_no = ${keyNo}), 0))`;
}

const selectBytes = `SELECT ${bytesOfKey("keys.no")}::float8 AS bytes FROM keys WHERE id = $1::text`;

const lockKeyWhere = "SELECT no FROM keys WHERE";

const selectStored = {
  files: `SELECT ${bytesOfKey("keys.no")}::float8 AS bytes,
    (SELECT count(*) FROM files f WHERE f.key_no = keys.no AND f.expires_at_ms > 0)::float8 AS count FROM keys WHERE id = $1::text`,
  batches: `SELECT ${bytesOfKey("keys.no")}::float8 AS bytes,
    (SELECT count(*) FROM batches b WHERE b.key_no = keys.no)::float8 AS count FROM keys WHERE id = $1::text`,
};

/** Locks the key, so that each request sees what the others have stored. Returns why it cannot store another file or batch of these bytes. */
export function* lockedQuota(
  { keyId, bytes = minStoredBytes }: { readonly keyId: string; readonly bytes?: number },
  { bytesPerKey, filesPerKey }: FileQuota,
  counted: "files" | "batches",
): Work<QuotaProblem | null> {
  yield* query(`${lockKeyWhere} id = $1::text FOR NO KEY UPDATE`, [keyId]);
  const [stored] = yield* query<{ bytes: number; count: number }>(selectStored[counted], [keyId]);
  if (stored === undefined) return null;
  if (stored.count >= filesPerKey) return counted;
  return stored.bytes + bytes > bytesPerKey ? "bytes" : null;
}

/** Adds to what a batch takes in addition to its results. False if the key may not store that. */
export function* addOwnBytes(batchId: string, bytes: number, bytesPerKey: number): Work<boolean> {
  yield* query(`${lockKeyWhere} no = (SELECT key_no FROM batches WHERE id = $1::text) FOR NO KEY UPDATE`, [
    batchId,
  ]);
  const counted = yield* query(
    `UPDATE batches SET own_bytes = own_bytes + $2::int8
    WHERE id = $1::text AND ${bytesOfKey("batches.key_no")} + $2::int8 <= $3::int8 RETURNING id`,
    [batchId, bytes, bytesPerKey],
  );
  return counted.length > 0;
}

async function listed(
  read: Queries["read"],
  { owner, kinds, limit, afterNo, isAscending, nowMs }: FileQuery,
): Promise<readonly ListedFile[]> {
  const [compare, order, ends] = isAscending ? [">", "ASC", 0] : ["<", "DESC", Number.MAX_SAFE_INTEGER];
  return read<ListedFile>(
    `${selectFiles} WHERE ${isOwned("f", owner, "$1")} AND f.kind = ANY ($2::text[]) AND f.no ${compare} $3::int8 AND f.expires_at_ms > $5::int8
    ORDER BY f.no ${order} LIMIT $4::int8`,
    [owner.keyId, kinds, afterNo ?? ends, limit, nowMs],
  );
}

const selectPlace = "SELECT f.no::float8 AS no FROM files f JOIN keys k ON k.no = f.key_no";

/**
 * A condition over files or batches of this alias, and their `keys AS k`. `parameter` is the placeholder of the key's id. Where accounts
 * share, the account decides that the key had when it was created: a key that moves takes nothing along.
 */
export function isOwned(
  alias: "f" | "b",
  { withAccount }: Pick<BatchOwner, "withAccount">,
  parameter: string,
): string {
  if (!withAccount) return `k.id = ${parameter}::text`;
  return `coalesce(${alias}.account_no, k.account_no) = (SELECT account_no FROM keys WHERE id = ${parameter}::text)`;
}

/** Stores what a retry gets, in the transaction that creates it. Throws if another process holds the claim now. */
export type StoreCreation = (retry: RetriedCreation) => Work<void>;
