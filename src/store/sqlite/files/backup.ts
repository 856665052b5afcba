import type { Database } from "bun:sqlite";
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { StoreError } from "../../store.ts";
import { isFull } from "./full-disk.ts";

/**
 * Copies the whole database into a new file while others read and write. The copy gets its name only when it is
 * complete and on disk, so an interrupted backup is never mistaken for a good one.
 */
export function copyDatabase(database: Database, file: string): void {
  if (existsSync(file)) {
    throw new StoreError("file_exists", `${file} already exists. Use another name for the backup.`);
  }
  const unfinished = unfinishedCopy(file);
  removeUnfinished(file);
  try {
    // SQLite would create it with the umask's permissions, readable by others while it is being written.
    closeSync(openSync(unfinished, "wx", 0o600));
    database.query("VACUUM INTO ?").run(unfinished);
    syncFile(unfinished);
    renameSync(unfinished, file);
    syncFile(dirname(file));
  } catch (error) {
    removeUnfinished(file);
    if (isFull(error, dirname(file)))
      throw new StoreError("disk_full", `There is not enough disk space for the backup ${file}.`);
    throw error;
  }
}

/** The name of an incomplete copy. */
export function unfinishedCopy(file: string): string {
  return `${file}.unfinished`;
}

/** Includes SQLite's journal next to it, which would be applied to the next copy. */
export function removeUnfinished(file: string): void {
  for (const suffix of ["", "-journal"]) rmSync(unfinishedCopy(file) + suffix, { force: true });
}

/** Also for folders: a rename is durable only once the folder is synced. */
export function syncFile(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
