import type { Database } from "bun:sqlite";
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from "node:fs";
import { StoreError } from "../../store.ts";
import type { DataFolder } from "../files/folder.ts";
import { checkpoint } from "./checkpointer.ts";

const lockTimeoutMs = 10_000;
const pauseMs = 20;
const bytesPerWrite = 1024 * 1024;

/** Records the newest acknowledged entry for the next process, if the failing disk allows it. */
export function noteFailedSync({ failedSyncFile }: DataFolder, acknowledgedId: number): void {
  try {
    const descriptor = openSync(failedSyncFile, "w", 0o600);
    try {
      writeSync(descriptor, String(acknowledgedId));
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // The next process recovers the log anyway. Without the note it has nothing to compare it with.
  }
}

/** Whether the gateway before could not sync its log, and none has recovered it since. */
export function hasFailedSync({ failedSyncFile }: DataFolder): boolean {
  return existsSync(failedSyncFile);
}

/**
 * Writes the log's bytes to the same place again, and syncs them. After a failed sync the system may treat unwritten
 * data as if it were on the disk, and the next sync reports success. If such a log were copied into the database, a
 * power cut would leave newer pages there than the log has, and the log would take back only some of them.
 */
export function rewriteLog(database: Database): void {
  const rewrite = database.transaction(() => {
    const descriptor = openSync(`${database.filename}-wal`, "r+");
    try {
      const bytes = new Uint8Array(bytesPerWrite);
      let length = 0;
      for (let read = -1; read !== 0; length += read) {
        read = readSync(descriptor, bytes, 0, bytes.length, length);
        writeAll(descriptor, bytes.subarray(0, read), length);
      }
      if (length > 0) fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  });
  // Nothing else can write to the log meanwhile.
  rewrite.immediate();
}

function writeAll(descriptor: number, bytes: Uint8Array, at: number): void {
  for (let written = 0; written < bytes.length; ) {
    written += writeSync(descriptor, bytes, written, bytes.length - written, at + written);
  }
}

/**
 * Starts with an empty log, after its content is in the database and synced. SQLite recovers the log by its
 * checksums, but what the last process could not sync may be in the system's memory only, and nothing may be
 * acknowledged after it. After a failed sync the ledger must have every acknowledged entry.
 */
export async function recoverLog(database: Database, folder: DataFolder): Promise<void> {
  const acknowledgedId = readNote(folder);
  if (acknowledgedId === null) {
    // Not awaited, because a reading command would block the last step.
    checkpoint(database, "TRUNCATE");
    return;
  }
  const giveUpAtMs = performance.now() + lockTimeoutMs;
  while (checkpoint(database, "TRUNCATE").isBusy) {
    if (performance.now() >= giveUpAtMs) throw folderBusyError(folder);
    await Bun.sleep(pauseMs);
  }
  const newest = database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM entries").get();
  if ((newest?.id ?? 0) < acknowledgedId) throw lostEntriesError(folder, newest?.id ?? 0, acknowledgedId);
  rmSync(folder.failedSyncFile, { force: true });
}

/** Null if the last sync did not fail. */
function readNote(folder: DataFolder): number | null {
  return hasFailedSync(folder) ? Number(readFileSync(folder.failedSyncFile, "utf8")) : null;
}

function folderBusyError({ dir }: DataFolder): StoreError {
  return new StoreError(
    "locked",
    `The disk with ${dir} failed, and another program has its ledger open. Stop that program, then start the gateway again.`,
  );
}

function lostEntriesError(
  { databaseFile, failedSyncFile }: DataFolder,
  newest: number,
  acknowledged: number,
) {
  return new StoreError(
    "corrupt",
    `The disk lost entries ${newest + 1} to ${acknowledged} of ${databaseFile}, which were synced. Replace the disk, and ` +
      `restore a backup with \`sluice restore FILE\`; or remove ${failedSyncFile} to continue without them.`,
  );
}
