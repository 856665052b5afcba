import { Database } from "bun:sqlite";
import { constants, copyFileSync, existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { changeMode } from "../../../base/files/mode.ts";
import { systemCode } from "../../../base/system/system-code.ts";
import { codeOf, isBusy, patiently } from "../connection.ts";
import { syncFile } from "./backup.ts";
import { createBackupFolder } from "./backup-folder.ts";
import { type DataFolder, removeReports } from "./folder.ts";

const timeoutMs = 10_000;

/**
 * Replaces the database by `folder.incomingFile` and keeps the old one as `kept`. The decisive step is a rename: a
 * crash before it leaves the old database in place, a crash after it the new one. False if there was nothing to keep.
 */
export async function replaceDatabase(folder: DataFolder, kept: string): Promise<boolean> {
  const { databaseFile, incomingFile, dir } = folder;
  const found = ["", ...logSuffixes].filter((suffix) => existsSync(databaseFile + suffix));
  if (found.length > 0) createBackupFolder(folder);
  // Before the database is opened, because SQLite discards the WAL of a database that it cannot read.
  for (const suffix of found) if (suffix !== "") keep(databaseFile + suffix, kept + suffix);
  const old = await takeOutOfUse(databaseFile);
  try {
    if (old !== null) for (const suffix of logSuffixes) rmSync(kept + suffix, { force: true });
    if (existsSync(databaseFile)) keep(databaseFile, kept);
    // A leftover WAL would be applied to the new database, so its deletion must be durable before the rename.
    for (const suffix of [...logSuffixes, "-shm"]) rmSync(databaseFile + suffix, { force: true });
    removeReports(folder);
    syncFile(dir);
    renameSync(incomingFile, databaseFile);
    syncFile(dir);
    return found.length > 0;
  } finally {
    old?.close();
  }
}

/** The write-ahead log, and the journal that SQLite needs to switch to or from it. */
const logSuffixes = ["-wal", "-journal"];

/**
 * Writes the log into the database, deletes it, and locks out all other processes: in journal mode `delete` no other
 * process can still have the file open, and one that opens it now cannot write to it. Null if there is no database, or
 * if SQLite cannot repair it, which leaves it unchanged.
 */
async function takeOutOfUse(file: string): Promise<Database | null> {
  if (!existsSync(file)) return null;
  const database = new Database(file, { readwrite: true, create: false });
  try {
    await patiently(timeoutMs, () => {
      database.run("PRAGMA locking_mode = exclusive");
      database.run("PRAGMA journal_mode = delete");
      database.run("BEGIN EXCLUSIVE");
    });
    return database;
  } catch (error) {
    database.close();
    if (codeOf(error) === "" || isBusy(codeOf(error))) throw error;
    return null;
  }
}

/** Creates the second link first, so that the file has a name at every moment. */
function keep(file: string, kept: string): void {
  // Kept by an earlier run of this restore that crashed.
  if (isSameFile(file, kept)) return;
  if (!tryLink(file, kept)) {
    if (existsSync(kept)) throw new Error(`${kept} already exists and was not overwritten.`);
    const unfinished = `${kept}.unfinished`;
    rmSync(unfinished, { force: true });
    copyFileSync(file, unfinished, constants.COPYFILE_EXCL);
    changeMode(unfinished, () => 0o600);
    syncFile(unfinished);
    renameSync(unfinished, kept);
  }
  syncFile(dirname(kept));
}

/** Gives a file a second name. False if its file system has no hard links. */
export function tryLink(file: string, name: string): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    if (!cannotLink.has(systemCode(error) ?? "")) throw error;
    return false;
  }
}

export function isSameFile(one: string, other: string): boolean {
  const [a, b] = [one, other].map((file) => statSync(file, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

/** Hard links are impossible: another disk, or a file system without them. */
const cannotLink = new Set(["EXDEV", "EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);
