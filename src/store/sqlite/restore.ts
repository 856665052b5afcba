import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { StoreRefusal } from "../store.ts";
import { copyDatabase, syncFile } from "./backup.ts";
import { applicationId, codeOf, isCorrupt, readPragma } from "./connection.ts";
import { dataFolder, lockFolder } from "./folder.ts";
import { quickCheck } from "./integrity.ts";
import { migrations, refuseNewer, schemaVersion } from "./migrate.ts";

export interface RestoreOptions {
  readonly dir: string;
  /** A copy made by `backup`. */
  readonly from: string;
  readonly nowMs: number;
}

export interface Restored {
  /** Where the replaced database is kept; null when there was none. */
  readonly replaced: string | null;
}

/**
 * Puts a copy in the place of the database. The copy is checked first, a running gateway is never pulled the floor
 * from under its feet, and what is replaced is kept: restoring the wrong file can be undone by restoring again.
 */
export function restoreDatabase({ dir, from, nowMs }: RestoreOptions): Restored {
  verifyCopy(from);
  const folder = dataFolder(dir);
  const lock = lockFolder(folder);
  try {
    const incoming = `${folder.databaseFile}.incoming`;
    takeCopy(from, incoming);
    const replaced = setAside(folder.databaseFile, keptAs(dir, nowMs));
    renameSync(incoming, folder.databaseFile);
    syncFile(dir);
    return { replaced };
  } finally {
    lock.release();
  }
}

/** With what only the log beside it holds, which a database that was kept after a crash may have. */
export function takeCopy(from: string, to: string): void {
  rmSync(to, { force: true });
  const database = new Database(from, { readonly: true });
  try {
    copyDatabase(database, to);
  } finally {
    database.close();
  }
}

export function verifyCopy(file: string): void {
  if (!existsSync(file)) throw new StoreRefusal("not_a_database", `There is no file ${file}.`);
  const database = new Database(file, { readonly: true });
  try {
    if (readPragma(database, "application_id") !== applicationId) throw notOurs(file);
    refuseNewer(schemaVersion(database), migrations.length, file);
    const problems = quickCheck(database, null, file);
    if (problems.length > 0) {
      throw new StoreRefusal("corrupt", `${file} is damaged (${problems.join("; ")}) and was not restored.`);
    }
  } catch (error) {
    if (isCorrupt(codeOf(error))) throw notOurs(file);
    throw error;
  } finally {
    database.close();
  }
}

/** Where the database that is replaced at this moment is kept. */
export function keptAs(dir: string, nowMs: number): string {
  return join(dir, "backups", `replaced-${new Date(nowMs).toISOString().replaceAll(":", "-")}.db`);
}

function notOurs(file: string): StoreRefusal {
  return new StoreRefusal("not_a_database", `${file} is not a copy of a Sluice database.`);
}

/** The write-ahead log belongs to its database: left behind, it would be applied to the restored one. */
function setAside(file: string, kept: string): string | null {
  if (!existsSync(file)) return null;
  mkdirSync(dirname(kept), { recursive: true, mode: 0o700 });
  for (const suffix of ["-wal", ""]) {
    if (existsSync(file + suffix)) renameSync(file + suffix, kept + suffix);
  }
  rmSync(`${file}-shm`, { force: true });
  return kept;
}
