import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { chownToFolderOwner } from "../../../base/files/mode.ts";
import { StoreError } from "../../store.ts";
import { codeOf, isBusy } from "../connection.ts";
import { syncFile, unfinishedCopy } from "./backup.ts";

export interface DataFolder {
  readonly dir: string;
  readonly databaseFile: string;
  readonly reserveFile: string;
  readonly lockFile: string;
  /** A complete, durable copy that a restore is about to rename to the database. */
  readonly incomingFile: string;
  readonly backupDir: string;
  /** Written by a gateway that could not sync its log: what it had acknowledged. */
  readonly failedSyncFile: string;
}

export function dataFolder(dir: string): DataFolder {
  const databaseFile = join(dir, "sluice.db");
  return {
    dir,
    databaseFile,
    reserveFile: join(dir, "sluice.reserve"),
    lockFile: join(dir, "sluice.lock"),
    incomingFile: `${databaseFile}.incoming`,
    backupDir: join(dir, "backups"),
    failedSyncFile: join(dir, "sluice.sync-failed"),
  };
}

/** The names in a folder; empty if it does not exist. With `lstatSync`, a link to a folder counts as none. */
export function namesIn(dir: string, stat: typeof statSync = statSync): string[] {
  return stat(dir, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(dir) : [];
}

/** Readable by the owner only. SQLite gives its other files the permissions, and the owner, of the database. */
export function createFolder({ dir, databaseFile }: DataFolder): void {
  const made = mkdirSync(dir, { recursive: true, mode: 0o700 });
  // SQLite syncs what is in the folder, but not the folder's own entry in its parent.
  if (made !== undefined) syncFile(dirname(made));
  createFile(databaseFile);
}

/** Does nothing if it exists. */
function createFile(file: string): void {
  closeSync(openSync(file, "a", 0o600));
  chownToFolderOwner(file);
}

export interface FolderLock {
  release(): void;
}

const restoreTimeoutMs = 10_000;
const pauseMs = 20;

/**
 * One gateway per data folder, because it decides balances in memory. The lock is an exclusive transaction on a
 * separate file: the system releases it however the process ends, so there are no stale locks. A restore takes it
 * too, but only briefly, so this waits.
 */
export async function lockFolder(folder: DataFolder): Promise<FolderLock> {
  const giveUpAtMs = performance.now() + restoreTimeoutMs;
  for (;;) {
    const lock = tryLock(folder);
    if (lock !== null) return lock;
    if (!isBeingRestored(folder) || performance.now() >= giveUpAtMs) {
      throw new StoreError(
        "in_use",
        `The data folder ${folder.dir} is in use by a running gateway. Stop it first.`,
      );
    }
    await Bun.sleep(pauseMs);
  }
}

/** Null if a gateway or a restore has it. */
export function tryLock({ dir, lockFile }: DataFolder): FolderLock | null {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  createFile(lockFile);
  const database = new Database(lockFile, { readwrite: true, create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (isBusy(codeOf(error))) return null;
    throw error;
  }
}

function isBeingRestored({ incomingFile }: DataFolder): boolean {
  return existsSync(incomingFile) || existsSync(unfinishedCopy(incomingFile));
}
