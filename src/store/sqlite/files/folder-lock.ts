import { Database } from "bun:sqlite";
import { closeSync, existsSync, mkdirSync, openSync } from "node:fs";
import { tryExclusiveLock } from "../../../base/system/exclusive-lock.ts";
import { StoreError } from "../../store.ts";
import { codeOf, isBusy } from "../connection.ts";
import { unfinishedCopy } from "./backup.ts";
import { createFile, type DataFolder } from "./folder.ts";

export interface FolderLock {
  release(): void;
}

const restoreTimeoutMs = 10_000;
const pauseMs = 20;

/**
 * One gateway per data folder, because it decides balances in memory. The system releases the lock however the process
 * ends, so there are no stale locks. A restore takes it too, but only briefly, so this waits.
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

/**
 * Null if a gateway or a restore has it. The lock is on the folder itself, since any program of this user can remove a file in it, and on a
 * file, which locks on file systems that cannot lock folders, and moves with the database.
 */
export function tryLock({ dir, lockFile }: DataFolder): FolderLock | null {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const descriptor = openSync(dir, "r");
  try {
    const release = tryExclusiveLock(descriptor) ? tryLockFile(lockFile) : null;
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
