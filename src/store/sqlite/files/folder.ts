import { closeSync, mkdirSync, openSync, readdirSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { chownToFolderOwner } from "../../../base/files/mode.ts";
import { syncFile } from "./backup.ts";

export interface DataFolder {
  readonly dir: string;
  readonly databaseFile: string;
  /** Totals for reports, derived from the database. */
  readonly reportsFile: string;
  readonly reserveFile: string;
  readonly lockFile: string;
  /** A complete, durable copy that a restore is about to rename to the database. */
  readonly incomingFile: string;
  readonly backupDir: string;
  /** Written by a gateway that could not sync its log: what it had acknowledged. */
  readonly failedSyncFile: string;
  /** Written by a start that found the log damaged. */
  readonly damagedLogFile: string;
  /** When the whole database was last checked, and what was found. */
  readonly checkedFile: string;
}

export function dataFolder(dir: string): DataFolder {
  const databaseFile = join(dir, "sluice.db");
  return {
    dir,
    databaseFile,
    reportsFile: join(dir, "reports.db"),
    reserveFile: join(dir, "sluice.reserve"),
    lockFile: join(dir, "sluice.lock"),
    incomingFile: `${databaseFile}.incoming`,
    backupDir: join(dir, "backups"),
    failedSyncFile: join(dir, "sluice.sync-failed"),
    damagedLogFile: join(dir, "sluice.log-damaged"),
    checkedFile: join(dir, "sluice.checked"),
  };
}

/** The names in a folder; none where it does not exist. */
export function namesIn(dir: string, stat: typeof statSync = statSync): string[] {
  return stat(dir, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(dir) : [];
}

/**
 * Creates the folder, readable by the owner only. SQLite gives its other files the permissions, and the owner, of the
 * database.
 */
export function createFolder({ dir, databaseFile }: DataFolder): void {
  const made = mkdirSync(dir, { recursive: true, mode: 0o700 });
  // SQLite syncs what is in the folder, but not the folder's own entry in its parent.
  if (made !== undefined) syncFile(dirname(made));
  createFile(databaseFile);
}

/** Does nothing if it exists. */
export function createFile(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  chownToFolderOwner(file);
}

/** Deletes the totals for reports, for instance because another ledger takes the place of this one. They are computed again. */
export function removeReports({ reportsFile }: Pick<DataFolder, "reportsFile">): void {
  // The log first, so that no later file gets it.
  for (const suffix of ["-wal", "-shm", ""]) rmSync(reportsFile + suffix, { force: true });
}

/** Next to the ledger, and not part of its backups. */
export function contentFile(dir: string): string {
  return join(dir, "content.db");
}
