import { existsSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { StoreError } from "../../store.ts";
import { openConnection } from "../connection.ts";
import { migrate } from "../migrate.ts";
import { contentFile, createFolder, type DataFolder, dataFolder, namesIn } from "./folder.ts";
import { lockFolder } from "./folder-lock.ts";
import { replaceDatabase } from "./replace.ts";
import { replacedPath } from "./restore.ts";
import { hasStagedRestore } from "./staged-restore.ts";

const busyTimeoutMs = 10_000;

/**
 * Throws for a folder without a database if anything in it shows that there was one. Otherwise an empty ledger would
 * silently replace a lost one, and every key and balance would be gone.
 */
export function rejectMissingLedger(folder: DataFolder): void {
  if (isPresent(folder.databaseFile)) return;
  rejectUnfinished(folder);
  const { databaseFile, backupDir } = folder;
  const newest = newestCopy(folder);
  const left = newest === null ? remains(folder) : [backupDir];
  if (left.length === 0) return;
  const restore =
    newest === null
      ? "Move the database back, or restore a backup with `sluice restore FILE`"
      : `Restore a backup with \`sluice restore ${newest}\``;
  const found = existsSync(databaseFile) ? "is empty" : "is missing";
  throw missing(
    `${databaseFile} ${found}, but the folder had a ledger: ${left.join(", ")} ${left.length === 1 ? "is" : "are"} still there. ` +
      `Sluice does not start with an empty ledger. ${restore}; or, to start over, run \`sluice serve --new-ledger\` once.`,
  );
}

/** Throws if a restore is under way, or if there are charges whose database is missing. */
function rejectUnfinished({ dir, databaseFile, incomingFile }: DataFolder): void {
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
}

/** What only a folder has whose gateway had a ledger. */
function remains({ dir, reportsFile, reserveFile, failedSyncFile }: DataFolder): string[] {
  const files = [reportsFile, reserveFile, failedSyncFile, contentFile(dir)].filter(isPresent);
  const served = join(dir, "served.json");
  return isPresent(served) && !namesDatabase(served) ? [...files, served] : files;
}

/** A gateway whose data is in PostgreSQL writes the database's name. */
function namesDatabase(served: string): boolean {
  try {
    const { store } = JSON.parse(readFileSync(served, "utf8")) as { store?: unknown };
    return store !== undefined;
  } catch {
    return false;
  }
}

function newestCopy({ backupDir }: DataFolder): string | null {
  const copies = namesIn(backupDir).filter((name) => name.endsWith(".db"));
  const newest = copies.sort(byAge(backupDir)).at(-1);
  return newest === undefined ? null : join(backupDir, newest);
}

/** Puts an empty ledger where one was lost. Throws if there is one, or if what is left of it could still be used. */
export async function beginNewLedger(dir: string, nowMs: number): Promise<void> {
  const folder = dataFolder(dir);
  const lock = await lockFolder(folder);
  try {
    if (isPresent(folder.databaseFile)) {
      throw new StoreError(
        "file_exists",
        `${folder.databaseFile} has a ledger, so nothing was changed. Start without --new-ledger.`,
      );
    }
    rejectUnfinished(folder);
    createFolder(folder);
    const database = openConnection(folder.databaseFile, { busyTimeoutMs });
    try {
      migrate(database, { file: folder.databaseFile, nowMs });
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
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
