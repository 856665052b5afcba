import { Database } from "bun:sqlite";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import { StoreRefusal } from "../store.ts";
import { codeOf, isBusy } from "./connection.ts";

export interface DataFolder {
  readonly dir: string;
  readonly databaseFile: string;
  readonly reserveFile: string;
}

export function dataFolder(dir: string): DataFolder {
  return { dir, databaseFile: join(dir, "sluice.db"), reserveFile: join(dir, "sluice.reserve") };
}

/** Only the owner may read what is created here. SQLite gives its own files the rights of the first. */
export function createFolder({ dir, databaseFile }: DataFolder): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  closeSync(openSync(databaseFile, "a", 0o600));
}

export interface FolderLock {
  release(): void;
}

/**
 * One gateway per data folder, because balances are decided in its memory. The lock is an exclusive transaction
 * on a file of its own: the system lets go of it however the process ends, so there is no stale lock to clean up.
 */
export function lockFolder({ dir }: DataFolder): FolderLock {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const file = join(dir, "sluice.lock");
  closeSync(openSync(file, "a", 0o600));
  const database = new Database(file, { readwrite: true, create: true });
  try {
    database.run("BEGIN EXCLUSIVE");
    return { release: () => database.close() };
  } catch (error) {
    database.close();
    if (!isBusy(codeOf(error))) throw error;
    throw new StoreRefusal("in_use", `The data folder ${dir} is in use by a running gateway. Stop it first.`);
  }
}
