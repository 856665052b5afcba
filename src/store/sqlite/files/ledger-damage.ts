import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { isObject } from "../../../base/json.ts";
import { plural } from "../../../base/text/plural.ts";
import type { LedgerDamage } from "../../files.ts";
import { findLogDamage } from "../log/log-damage.ts";
import { syncFile } from "./backup.ts";
import { backupFile, createBackupFolder } from "./backup-folder.ts";
import type { DataFolder } from "./folder.ts";
import { wholeCheckLimitBytes } from "./integrity.ts";

const checkEveryMs = 7 * 24 * 60 * 60_000;

/**
 * Keeps a copy and a note of a damaged log before SQLite opens it, which drops what is behind the damage without a word.
 * No gateway may be writing to the log.
 */
export function noteDamagedLog(folder: DataFolder, nowMs: number): void {
  const log = `${folder.databaseFile}-wal`;
  const damage = findLogDamage(log);
  // A command could have begun the log again in between.
  if (damage === null || findLogDamage(log)?.frame !== damage.frame) return;
  const copy = backupFile(folder, "damaged-log", nowMs, "wal");
  createBackupFolder(folder);
  copyFileSync(log, copy);
  syncFile(copy);
  const { frame, transactions } = damage;
  writeNote(folder.damagedLogFile, {
    atMs: nowMs,
    text:
      `The ledger's log was damaged at frame ${frame}, and ${plural(transactions, "transaction")} after it could not be read: ` +
      `acknowledged charges may be missing. A copy of the damaged log: ${copy}. Check the disk, and restore the last good backup ` +
      `with \`sluice restore FILE\`; or remove ${folder.damagedLogFile} to continue without them.`,
  });
}

/** Null if the database and its log were intact when they were last looked at. */
export function readDamage({ damagedLogFile, checkedFile }: DataFolder): LedgerDamage | null {
  return readNote(damagedLogFile) ?? readNote(checkedFile);
}

/** Whether the whole database is due to be checked. A small one is checked at every start. */
export function isCheckDue({ databaseFile, checkedFile }: DataFolder, nowMs: number): boolean {
  if ((statSync(databaseFile, { throwIfNoEntry: false })?.size ?? 0) <= wholeCheckLimitBytes) return false;
  const checkedMs = statSync(checkedFile, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return Math.abs(nowMs - checkedMs) >= checkEveryMs;
}

/** `problems` is empty if the whole database is intact. */
export function noteCheck(
  { databaseFile, checkedFile }: DataFolder,
  problems: readonly string[],
  nowMs: number,
): void {
  const text =
    `The database ${databaseFile} is damaged (${problems.join("; ")}). Stop the gateway, check the disk, and restore the last ` +
    "good backup with `sluice restore FILE`.";
  writeNote(checkedFile, { atMs: nowMs, text: problems.length === 0 ? "" : text });
}

/** The damage was in the database that a restore has replaced. */
export function forgetDamage({ damagedLogFile, checkedFile }: DataFolder): void {
  for (const file of [damagedLogFile, checkedFile]) rmSync(file, { force: true });
}

function writeNote(file: string, note: LedgerDamage): void {
  writeFileSync(file, JSON.stringify(note), { mode: 0o600 });
  syncFile(file);
}

function readNote(file: string): LedgerDamage | null {
  try {
    const note: unknown = JSON.parse(readFileSync(file, "utf8"));
    if (!isObject(note) || typeof note["text"] !== "string" || note["text"] === "") return null;
    return { text: note["text"], atMs: Number(note["atMs"]) };
  } catch {
    // There is none, or it was not written to its end.
    return null;
  }
}
