import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync, statSync } from "node:fs";
import { chownToFolderOwner } from "../../../base/files/mode.ts";
import type { ContentLimits, ContentRow, ContentStore } from "../../content-store.ts";
import { evictionLevel } from "../../eviction-level.ts";
import { Parameters, query } from "../../query.ts";
import { StoreError } from "../../store.ts";
import { contentReads, contentWhere, type IdCondition } from "../../tables/content-table.ts";
import { codeOf, isCorrupt, readPragma } from "../connection.ts";
import { contentFile } from "../files/folder.ts";
import { notDurable, perform, sqliteQueries } from "../queries.ts";
import schema from "./schema.sql" with { type: "text" };

/** The letters SLUT, for the turns of a conversation; the ledger has SLUC. */
const applicationId = 0x534c5554;
/** Another process may be deleting. Blocking is fine here: this runs on its own thread or process. */
const busyTimeoutMs = 5_000;
/** 16 MB, so that pages changed by several writes are copied into the file once. Deletions empty the log. */
const checkpointPages = 512;
const maxLogBytes = 20_000_000;
const rowsPerDelete = 500;
/** Frees a little more than needed, so that not every write deletes. */
const retainedShare = 0.95;

/** Uses the index of each segment; see schema.sql. 0.4 ms for 700,000 rows. */
const bySegment: IdCondition = (comparison) => `no IN (
  WITH RECURSIVE segment (place) AS (
    SELECT min(no) >> 13 FROM content
    UNION ALL SELECT place + 1 FROM segment WHERE place < (SELECT max(no) >> 13 FROM content)
  )
  SELECT found.no FROM segment CROSS JOIN content AS found ON found.no >> 13 = segment.place AND found.${comparison})`;

/** Opened without exclusive locking, so that commands can read and delete while a gateway writes. */
export function openSqliteContent(dir: string): ContentStore {
  const file = contentFile(dir);
  const database = open(file, dir);
  const queries = sqliteQueries(database, busyTimeoutMs, notDurable);
  const insert = database.prepare<
    unknown,
    [string, number, string, string | null, string, string, Uint8Array]
  >("INSERT INTO content (id, at_ms, key_id, owner, model, outcome, body) VALUES (?, ?, ?, ?, ?, ?, ?)");
  const update = database.prepare<unknown, [Uint8Array, number]>("UPDATE content SET body = ? WHERE no = ?");
  const writeAll = database.transaction((rows: readonly ContentRow[]) => {
    for (const { id, atMs, keyId, owner, model, outcome, body } of rows)
      insert.run(id, atMs, keyId, owner, model, outcome, body);
  });
  const usedBytes = () => {
    const pages = Number(readPragma(database, "page_count")) - Number(readPragma(database, "freelist_count"));
    return pages * Number(readPragma(database, "page_size"));
  };
  return {
    ...contentReads(queries.read, bySegment),

    async write(rows) {
      writeAll.immediate(rows);
    },

    async delete(filter) {
      const parameters = new Parameters();
      const where = contentWhere(filter, parameters, bySegment);
      const deleted = await queries.changeTogether(function* () {
        return yield* query(`DELETE FROM content WHERE ${where} RETURNING no`, parameters.all);
      });
      if (deleted.length > 0) wipeFreed(database);
      return deleted.length;
    },

    async prune({ beforeMs, maxBytes }: ContentLimits) {
      const old = "DELETE FROM content WHERE no IN (SELECT no FROM content WHERE at_ms < ? LIMIT ?)";
      let deleted = 0;
      for (let count = rowsPerDelete; count === rowsPerDelete; deleted += count)
        count = database.run(old, [beforeMs, rowsPerDelete]).changes;
      // Rows that share their page with others free it only when those are deleted, too, so one round may not be enough.
      for (let count = 1; count > 0 && usedBytes() > maxBytes; deleted += count)
        count = evict(database, (maxBytes * retainedShare) / usedBytes());
      if (deleted > 0) wipeFreed(database);
    },

    async sizes() {
      const log = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      return { rows: countRows(database), bytes: statSync(file).size + log };
    },

    async rewrite(repack, mark, onProgress) {
      const all = countRows(database);
      const whole =
        'SELECT no, id, at_ms AS "atMs", key_id AS "keyId", owner, model, outcome, body FROM content WHERE no > ? ORDER BY no LIMIT 100';
      const next = database.prepare<ContentRow & { no: number }, [number]>(whole);
      // One transaction: either all rows have the new key, or none.
      database
        .transaction(() => {
          let done = 0;
          for (let last = -1, rows = next.all(last); rows.length > 0; rows = next.all(last)) {
            for (const row of rows) update.run(repack(row), row.no);
            last = rows.at(-1)?.no ?? last;
            done += rows.length;
            onProgress(done, all);
          }
          perform(database, query("DELETE FROM content_mark"));
          if (mark !== null) database.run("INSERT INTO content_mark (value) VALUES (?)", [mark]);
        })
        .immediate();
      wipeFreed(database);
    },

    async close() {
      database.close();
    },
  };
}

/** The rows and bytes of each key, without reading the bodies; by segment, like the index of ids. */
const keyIndex = "content_by_key ON content (no >> 13, key_id, length(body))";
const heldByKey = `SELECT key_id AS "keyId", sum(length(body)) AS bytes FROM content INDEXED BY content_by_key GROUP BY key_id`;
/** The rows before the newest ones that have this many bytes, the oldest first. */
const oldestOfKey = `SELECT no FROM (
  SELECT no, sum(length(body)) OVER (ORDER BY no DESC) AS newest FROM content WHERE ${bySegment("key_id = ?")}
) WHERE newest > ? ORDER BY no`;

/** Deletes the oldest rows of the keys that hold most, until this share of all bytes is left. Returns how many. */
function evict(database: Database, share: number): number {
  const held = database.query<{ keyId: string; bytes: number }, []>(heldByKey).all();
  const bytes = held.map((each) => each.bytes);
  const level = evictionLevel(bytes, share * bytes.reduce((sum, each) => sum + each, 0));
  const oldest = database.query<{ no: number }, [string, number]>(oldestOfKey);
  const numbers = held
    .filter((each) => each.bytes > level)
    .flatMap(({ keyId }) => oldest.all(keyId, level).map(({ no }) => no))
    // Neighbors share pages.
    .toSorted((one, other) => one - other);
  for (let from = 0; from < numbers.length; from += rowsPerDelete) {
    const some = JSON.stringify(numbers.slice(from, from + rowsPerDelete));
    database.run("DELETE FROM content WHERE no IN (SELECT value FROM json_each(?))", [some]);
  }
  return numbers.length;
}

function countRows(database: Database): number {
  return database.query<{ rows: number }, []>("SELECT count(*) AS rows FROM content").get()?.rows ?? 0;
}

/**
 * Freed pages are overwritten when freed. This returns them to the file system and empties the log, which still has
 * the old text.
 */
function wipeFreed(database: Database): void {
  database.run("PRAGMA incremental_vacuum");
  database.run("PRAGMA wal_checkpoint(TRUNCATE)");
}

function open(file: string, dir: string): Database {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  closeSync(openSync(file, "a", 0o600));
  chownToFolderOwner(file);
  const database = new Database(file, { create: true, readwrite: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    // Both settings only work before the first table. A document of 2 KB takes 17 µs with pages of 4 KB, 8.9 with 16, 8.2 with 32;
    // one of 60 KB takes 149 µs with 16 and 131 with 32.
    database.run("PRAGMA page_size = 32768");
    database.run("PRAGMA auto_vacuum = INCREMENTAL");
    database.run("PRAGMA journal_mode = WAL");
    database.run("PRAGMA synchronous = NORMAL");
    database.run("PRAGMA secure_delete = ON");
    database.run("PRAGMA trusted_schema = OFF");
    database.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    database.run(`PRAGMA journal_size_limit = ${maxLogBytes}`);
    database.transaction(() => createTables(database, file)).immediate();
    return database;
  } catch (error) {
    database.close();
    if (!isCorrupt(codeOf(error))) throw error;
    const why = `The file ${file} is damaged (${codeOf(error)}). It has only recorded content, not the ledger: delete it and restart.`;
    throw new StoreError("corrupt", why);
  }
}

function createTables(database: Database, file: string): void {
  const found = Number(readPragma(database, "application_id"));
  if (found !== 0 && found !== applicationId)
    throw new StoreError("not_a_database", `The file ${file} is not a content database.`);
  if (found === 0) database.run(schema);
  // Files of older builds do not have it.
  database.run(`CREATE INDEX IF NOT EXISTS ${keyIndex}`);
  database.run(`PRAGMA application_id = ${applicationId}`);
}
