import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { tryFileLock } from "../../../base/system/file-lock.ts";
import { StoreError } from "../../store.ts";
import { codeOf, isBusy } from "../connection.ts";
import { unfinishedCopy } from "./backup.ts";
import { createFile, type DataFolder } from "./folder.ts";

export interface FolderLock {
  release(): void;
}

const restoreTimeoutMs = 10_000;
const pauseMs = 20;
/** A command that looks whether the folder is locked is in the way for a moment. */
const lookTimeoutMs = 100;

/**
 * Ensures one gateway per data folder, because it decides balances in memory. The system releases the lock however the
 * process ends, so there are no stale locks. A restore takes it too, but only briefly, so this waits.
 */
export async function lockFolder(folder: DataFolder): Promise<FolderLock> {
  const startedMs = performance.now();
  for (;;) {
    const lock = tryLock(folder);
    if (lock !== null) return lock;
    const timeoutMs = isBeingRestored(folder) ? restoreTimeoutMs : lookTimeoutMs;
    if (performance.now() - startedMs >= timeoutMs) {
      throw new StoreError(
        "in_use",
        `The data folder ${folder.dir} is in use by a running gateway. Stop it first.`,
      );
    }
    await Bun.sleep(pauseMs);
  }
}

/**
 * Null if a gateway or a restore has it. The lock is on the folder itself, since any program of this user can remove a file in it, and on a
 * file, which locks on file systems that cannot lock folders, and moves with the database.
 */
export function tryLock({ dir, lockFile }: DataFolder): FolderLock | null {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const descriptor = openSync(dir, "r");
  try {
    const release = tryFileLock(descriptor, "exclusive") ? tryLockFile(lockFile) : null;
    if (release === null) {
      closeSync(descriptor);
      return null;
    }
    return {
      release() {
        release();
        closeSync(descriptor);
      },
    };
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** Whether a process has the folder, without keeping another from it. */
export function isLocked({ dir, lockFile }: DataFolder): boolean {
  if (!existsSync(lockFile)) return false;
  const descriptor = openSync(dir, "r");
  try {
    return !tryFileLock(descriptor, "shared") || isFileLocked(lockFile);
  } finally {
    closeSync(descriptor);
  }
}

function isFileLocked(file: string): boolean {
  const database = new Database(file, { readonly: true });
  try {
    database.query("SELECT count(*) FROM sqlite_master").get();
    return false;
  } catch (error) {
    if (isBusy(codeOf(error))) return true;
    throw error;
  } finally {
    database.close();
  }
}

/** An exclusive transaction of a database without tables. Null if another process has it; otherwise ends it. */
function tryLockFile(file: string): (() => void) | null {
  createFile(file);
  const database = new Database(file, { readwrite: true, create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    return () => database.close();
  } catch (error) {
    database.close();
    if (isBusy(codeOf(error))) return null;
    throw error;
  }
}

function isBeingRestored({ incomingFile }: DataFolder): boolean {
  return existsSync(incomingFile) || existsSync(unfinishedCopy(incomingFile));
}
