import { Database } from "bun:sqlite";
import { systemCode } from "../../base/system/system-code.ts";
import { StoreError } from "../store.ts";

/** Marks a file as Sluice's own: the letters SLU1. */
export const applicationId = 0x534c5531;

export interface ConnectionOptions {
  /**
   * How long SQLite itself can wait for a lock. It blocks the thread, so this is short on the thread that relays
   * streams, and longer waits are asynchronous (see `patiently`).
   */
  readonly busyTimeoutMs: number;
  /** Commits do not wait for the disk, and SQLite does not checkpoint by itself: `src/store/sqlite/log` does both. */
  readonly isSyncedByLog?: boolean;
}

const full = 2;
/** SQLite syncs only the log's header and what a checkpoint needs. */
const normal = 1;

/** Opens the database with the settings that durability depends on, and verifies each of them. */
export function openConnection(file: string, options: ConnectionOptions): Database {
  const database = new Database(file, { create: true, readwrite: true, strict: true });
  try {
    database.run(`PRAGMA busy_timeout = ${options.busyTimeoutMs}`);
    setAndVerify(database, "journal_mode", "wal");
    setAndVerify(database, "synchronous", options.isSyncedByLog === true ? normal : full);
    if (options.isSyncedByLog === true) setAndVerify(database, "wal_autocheckpoint", 0);
    setAndVerify(database, "foreign_keys", 1);
    setAndVerify(database, "trusted_schema", 0);
    setAndVerify(database, "temp_store", 2);
    database.run("PRAGMA journal_size_limit = 67108864");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** SQLite silently keeps the old value of an invalid setting, so it is read back. */
function setAndVerify(database: Database, pragma: string, expected: string | number): void {
  database.run(`PRAGMA ${pragma} = ${expected}`);
  const found = readPragma(database, pragma);
  if (found !== expected)
    throw new Error(`The database rejected ${pragma} = ${expected}; it is still ${found}.`);
}

export function readPragma(database: Database, pragma: string): unknown {
  const row = database.query<Record<string, unknown>, []>(`PRAGMA ${pragma}`).get();
  return row === null ? null : Object.values(row)[0];
}

/** `SQLITE_PROTOCOL` is a lost race for the locks of the write-ahead log. */
const busyCodes = ["SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"];
/** A restore replaced the file between opening and the first write. Opening it again gets the new one. */
const replacedCode = "SQLITE_READONLY_DBMOVED";

/** The SQLite result code of an error, such as `SQLITE_BUSY`; empty if it is not SQLite's. */
export function codeOf(error: unknown): string {
  const code = systemCode(error) ?? "";
  return code.startsWith("SQLITE") ? code : "";
}

export function isBusy(code: string): boolean {
  return busyCodes.some((busy) => code.startsWith(busy));
}

export function isOutOfSpace(code: string): boolean {
  return code.startsWith("SQLITE_FULL") || code.startsWith("SQLITE_IOERR");
}

export function isCorrupt(code: string): boolean {
  return code.startsWith("SQLITE_CORRUPT") || code.startsWith("SQLITE_NOTADB");
}

/** Damage is distinguished from other failures, because the remedy is a restore. */
export function corruptError(file: string, details: string): StoreError {
  return new StoreError(
    "corrupt",
    `The database ${file} is damaged (${details}). Nothing was changed. ` +
      "Restore the last good backup with `sluice restore FILE`; it does not delete the damaged file.",
  );
}

/** Thrown if the database stays locked for longer than `timeoutMs`. */
function lockedError(timeoutMs: number): StoreError {
  return new StoreError(
    "locked",
    `The database was locked by another program for ${timeoutMs / 1000} s. Nothing was changed. ` +
      "To find that program, run `fuser -v sluice.db` in the data folder. Stop it or wait for it, then retry.",
  );
}

const firstPauseMs = 2;
const maxPauseMs = 50;

/** Runs a transaction, waiting without blocking while another process has the database locked. */
export async function patiently<Result>(timeoutMs: number, work: () => Result): Promise<Result> {
  const giveUpAtMs = performance.now() + timeoutMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      return work();
    } catch (error) {
      const code = codeOf(error);
      if (!isBusy(code) && code !== replacedCode) throw error;
      if (performance.now() >= giveUpAtMs) throw isBusy(code) ? lockedError(timeoutMs) : error;
    }
    await Bun.sleep(pauseMs);
  }
}
