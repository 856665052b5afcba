import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../store.ts";
import { type DataFolder, dataFolder, namesIn } from "./folder.ts";
import { lockFolder } from "./folder-lock.ts";
import { replaceDatabase } from "./replace.ts";
import { replacedPath } from "./restore.ts";
import { hasStagedRestore } from "./staged-restore.ts";

/**
 * Throws for a folder without a database if anything in it shows that there was one. Otherwise an empty ledger would
 * silently replace a lost one, and every key and balance would be gone.
 */
export function rejectMissingLedger(folder: DataFolder): void {
  if (isPresent(folder.databaseFile)) return;
  const { dir, databaseFile, incomingFile, backupDir } = folder;
  if (existsSync(incomingFile) || hasStagedRestore(dir)) {
    throw missing(
      `A restore into ${dir} is in progress or was interrupted. If it is no longer running, ` +
        "run `sluice serve` or `sluice restore FILE` to finish it.",
    );
  }
  if (isPresent(`${databaseFile}-wal`)) {
    throw missing(
      `${databaseFile} is missing, but its write-ahead log ${databaseFile}-wal is not. ` +
        "Move the database back, or restore a backup with `sluice restore FILE`.",
    );
  }
  const copies = namesIn(backupDir).filter((name) => name.endsWith(".db"));
  const newest = copies.sort(byAge(backupDir)).at(-1);
  if (newest === undefined) return;
  throw missing(
    `${databaseFile} is missing, but ${backupDir} has backups. Sluice does not start with an empty ledger. ` +
      `Restore one with \`sluice restore ${join(backupDir, newest)}\`, or, to start over, move ${backupDir} elsewhere.`,
  );
}

/**
 * Ends an interrupted restore and returns a sentence about the result; null if there was none. If the old database is
 * still in place, it is kept. Otherwise the copy, which is complete, takes its place.
 */
export async function finishRestore(dir: string, nowMs: number): Promise<string | null> {
  const folder = dataFolder(dir);
  const { incomingFile, databaseFile } = folder;
  if (!existsSync(incomingFile)) return null;
  const lock = await lockFolder(folder);
  try {
    // The previous holder of the lock may have finished it.
    if (!existsSync(incomingFile)) return null;
    if (isPresent(databaseFile)) {
      rmSync(incomingFile, { force: true });
      return "A restore was interrupted before it took effect, so the data is unchanged. To restore it, run the command again.";
    }
    await replaceDatabase(folder, replacedPath(dir, nowMs));
    return "Sluice finished an interrupted restore: the restored copy is in use.";
  } finally {
    lock.release();
  }
}

function missing(message: string): StoreError {
  return new StoreError("ledger_missing", message);
}

/** An empty file counts as missing. */
function isPresent(file: string): boolean {
  return (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function byAge(dir: string): (a: string, b: string) => number {
  const ageOf = (name: string) => statSync(join(dir, name)).mtimeMs;
  return (a, b) => ageOf(a) - ageOf(b);
}
