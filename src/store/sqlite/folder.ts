import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { StoreRefusal } from "../store.ts";
import { syncFile, unfinishedCopy } from "./backup.ts";
import { codeOf, isBusy } from "./connection.ts";

export interface DataFolder {
  readonly dir: string;
  readonly databaseFile: string;
  readonly reserveFile: string;
  readonly lockFile: string;
  /** A restore's copy, complete and on disk, about to take the database's place. */
  readonly incomingFile: string;
  readonly backupDir: string;
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
  };
}

/** Only the owner may read what is created here. SQLite gives its own files the rights of the first. */
export function createFolder({ dir, databaseFile }: DataFolder): void {
  const made = mkdirSync(dir, { recursive: true, mode: 0o700 });
  // SQLite sees to what is in the folder; that the folder itself outlasts a power cut is up to us.
  if (made !== undefined) syncFile(dirname(made));
  closeSync(openSync(databaseFile, "a", 0o600));
}

export interface FolderLock {
  release(): void;
}

const restorePatienceMs = 10_000;
const pauseMs = 20;

/**
 * One gateway per data folder, because balances are decided in its memory. The lock is an exclusive transaction
 * on a file of its own: the system lets go of it however the process ends, so there is no stale lock to clean up.
 * A restore holds it too, but soon lets go of it, and is waited for.
 */
export async function lockFolder(folder: DataFolder): Promise<FolderLock> {
  const giveUpAtMs = performance.now() + restorePatienceMs;
  for (;;) {
    const lock = tryLock(folder);
    if (lock !== null) return lock;
    if (!isBeingRestored(folder) || performance.now() >= giveUpAtMs) {
      throw new StoreRefusal(
        "in_use",
        `The data folder ${folder.dir} is in use by a running gateway. Stop it first.`,
      );
    }
    await Bun.sleep(pauseMs);
  }
}

function tryLock({ dir, lockFile }: DataFolder): FolderLock | null {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  closeSync(openSync(lockFile, "a", 0o600));
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
