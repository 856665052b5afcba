import { Database } from "bun:sqlite";
import { rmSync, statSync } from "node:fs";
import { chownToFolderOwner } from "../../../base/files/mode.ts";
import type { RestoreResult } from "../../files.ts";
import { StoreError } from "../../store.ts";
import { pauseBatches } from "../../tables/batch-table.ts";
import { noteRestore } from "../../tables/feed-push.ts";
import { applicationId, codeOf, isCorrupt, patiently, readPragma } from "../connection.ts";
import { rejectOtherSchema } from "../migrate.ts";
import { sqliteText } from "../queries.ts";
import { copyDatabase, syncFile } from "./backup.ts";
import { backupFile } from "./backup-folder.ts";
import { type DataFolder, dataFolder } from "./folder.ts";
import { lockFolder } from "./folder-lock.ts";
import { quickCheck } from "./integrity.ts";
import { forgetDamage } from "./ledger-damage.ts";
import { replaceDatabase, tryLink } from "./replace.ts";

export interface RestoreOptions {
  readonly dir: string;
  /** A copy made by `backup`. */
  readonly from: string;
  readonly nowMs: number;
}

const timeoutMs = 10_000;

/**
 * Replaces the database by a copy. Checks the copy first, fails while a gateway runs, and keeps the replaced
 * database, so that restoring the wrong file can be undone.
 */
export async function restoreDatabase({ dir, from, nowMs }: RestoreOptions): Promise<RestoreResult> {
  await verifyCopy(from);
  const folder = dataFolder(dir);
  const lock = await lockFolder(folder);
  try {
    return await putInPlace(folder, from, nowMs);
  } finally {
    lock.release();
  }
}

/**
 * Puts a copy in place that lies in the folder and was checked when it was written. Neither takes time that grows with the
 * data, because the gateway is stopped meanwhile. The copy keeps its name, too.
 */
export async function restoreStaged({ dir, from, nowMs }: RestoreOptions): Promise<RestoreResult> {
  const folder = dataFolder(dir);
  const lock = await lockFolder(folder);
  try {
    rmSync(folder.incomingFile, { force: true });
    if (!tryLink(from, folder.incomingFile)) await takeCopy(from, folder.incomingFile);
    syncFile(dir);
    return await replaceBy(folder, replacedPath(dir, nowMs));
  } finally {
    lock.release();
  }
}

async function replaceBy(folder: DataFolder, kept: string): Promise<RestoreResult> {
  const hasReplaced = await replaceDatabase(folder, kept);
  forgetDamage(folder);
  return { replaced: hasReplaced ? kept : null };
}

async function putInPlace(folder: DataFolder, from: string, nowMs: number): Promise<RestoreResult> {
  const { dir, incomingFile } = folder;
  try {
    await takeCopy(from, incomingFile);
    noteRestoreIn(incomingFile, nowMs);
    return await replaceBy(folder, replacedPath(dir, nowMs));
  } catch (error) {
    rmSync(incomingFile, { force: true });
    throw error;
  }
}

/** Copies into the data folder, including what is only in the WAL, as after a crash. */
export async function takeCopy(from: string, to: string): Promise<void> {
  rmSync(to, { force: true });
  const database = new Database(from, { readonly: true });
  try {
    await patiently(timeoutMs, () => copyDatabase(database, to));
    forgetRunning(to);
    chownToFolderOwner(to);
  } finally {
    database.close();
  }
}

/** Notes from which entry on the feed's readers have what was undone. A copy of an older schema has no place for it. */
export function noteRestoreIn(file: string, nowMs: number): void {
  const copy = new Database(file, { readwrite: true, create: false });
  try {
    if (!hasTable(copy, "ledger_restores")) return;
    copy
      .transaction(() => {
        const [note, compose] = noteRestore;
        copy.query(sqliteText(note)).run(nowMs);
        copy.query(sqliteText(compose)).run();
      })
      .immediate();
  } finally {
    copy.close();
  }
}

function hasTable(database: Database, table: string): boolean {
  return database.query("SELECT name FROM sqlite_schema WHERE name = ?").get(table) !== null;
}

/** Responses in the background and batches may have run since the copy was made, so they do not run again. */
function forgetRunning(file: string): void {
  const copy = new Database(file, { readwrite: true, create: false });
  try {
    if (hasTable(copy, "background_responses"))
      copy.run("DELETE FROM background_responses WHERE state <> 'ended'");
    if (hasTable(copy, "batches")) copy.run(pauseBatches);
  } finally {
    copy.close();
  }
}

export async function verifyCopy(file: string): Promise<void> {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new StoreError("not_a_database", `File ${file} does not exist.`);
  if (!found.isFile()) throw notOurs(file);
  const database = new Database(file, { readonly: true });
  try {
    await patiently(timeoutMs, () => verify(database, file));
  } catch (error) {
    if (isCorrupt(codeOf(error))) throw notOurs(file);
    throw error;
  } finally {
    database.close();
  }
}

function verify(database: Database, file: string): void {
  if (readPragma(database, "application_id") !== applicationId) throw notOurs(file);
  const problems = quickCheck(database, null, file);
  if (problems.length > 0) {
    throw new StoreError("corrupt", `${file} is damaged (${problems.join("; ")}) and was not restored.`);
  }
  rejectOtherSchema(database, file);
}

/** The path of a database that was replaced at this time. */
export function replacedPath(dir: string, nowMs: number): string {
  return backupFile(dataFolder(dir), "replaced", nowMs);
}

function notOurs(file: string): StoreError {
  return new StoreError("not_a_database", `${file} is not a Sluice database.`);
}
