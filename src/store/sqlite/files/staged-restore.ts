import { Database } from "bun:sqlite";
import { existsSync, mkdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { RestoreResult } from "../../files.ts";
import { patiently } from "../connection.ts";
import { syncFile } from "./backup.ts";
import { dataFolder, namesIn } from "./folder.ts";
import { isSameFile } from "./replace.ts";
import {
  noteRestoreIn,
  type RestoreOptions,
  replacedPath,
  restoreStaged,
  takeCopy,
  verifyCopy,
} from "./restore.ts";

/**
 * A restore while a gateway uses the folder. Its memory decides balances, so the gateway has to apply the copy
 * itself, when nothing is running. Until then the copy lies in the folder, under a name with the time it was staged
 * and whether it has been applied.
 */
const stagedName = /^sluice\.restore-(\d+)(\.applied)?$/;

/** Checks the copy and stages it for the gateway. */
export async function stageRestore({ dir, from, nowMs }: RestoreOptions): Promise<void> {
  await verifyCopy(from);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const unfinished = join(dir, "sluice.restore.unfinished");
  await takeCopy(from, unfinished);
  noteRestoreIn(unfinished, nowMs);
  renameSync(unfinished, join(dir, `sluice.restore-${nowMs}`));
  syncFile(dir);
}

export function hasStagedRestore(dir: string): boolean {
  return stagedIn(dir) !== null;
}

/**
 * Resolves when no other program has the database locked; rejects after some seconds. A gateway that stopped for a
 * restore while another program writes could neither write its last charges nor start again.
 */
export async function awaitUnlocked(dir: string): Promise<void> {
  const file = dataFolder(dir).databaseFile;
  if (!existsSync(file)) return;
  const database = new Database(file, { readwrite: true, create: false });
  try {
    await patiently(lockTimeoutMs, () => database.run("BEGIN IMMEDIATE"));
    database.run("ROLLBACK");
  } finally {
    database.close();
  }
}

const lockTimeoutMs = 2_000;

/**
 * Applies a staged copy; null if there is none. It stays in the folder until `endStagedRestore`, so that the next start
 * continues after a crash and does not apply it twice.
 */
export async function applyStagedRestore(dir: string): Promise<RestoreResult | null> {
  const staged = stagedIn(dir);
  if (staged === null) return null;
  const { file, nowMs } = staged;
  const kept = replacedPath(dir, nowMs);
  const { databaseFile } = dataFolder(dir);
  const isInPlace = staged.isApplied || hasReplaced(kept, databaseFile) || isSameFile(file, databaseFile);
  if (existsSync(databaseFile) && isInPlace) {
    return { replaced: existsSync(kept) ? kept : null };
  }
  const restored = await restoreStaged({ dir, from: file, nowMs });
  if (!staged.isApplied) renameSync(file, `${file}.applied`);
  return restored;
}

/** Called when the copy is in use, or could not be applied for the given reason. The command that staged it stops waiting. */
export function endStagedRestore(dir: string, failure: string | null = null): void {
  const staged = stagedIn(dir);
  if (staged === null) return;
  if (failure !== null) writeFileSync(failureFile(dir, staged.nowMs), failure, { mode: 0o600 });
  rmSync(staged.file, { force: true });
}

/** The result of the copy that was staged at this time, once it is no longer staged. */
export async function outcomeOf(
  dir: string,
  nowMs: number,
): Promise<RestoreResult | { readonly failure: string }> {
  const file = failureFile(dir, nowMs);
  if (existsSync(file)) {
    const failure = await Bun.file(file).text();
    rmSync(file, { force: true });
    return { failure };
  }
  const kept = replacedPath(dir, nowMs);
  return { replaced: existsSync(kept) ? kept : null };
}

function failureFile(dir: string, nowMs: number): string {
  return join(dir, `sluice.restore-refused-${nowMs}`);
}

/** Until the copy replaces it, the kept database has both names. On another disk this cannot be determined. */
function hasReplaced(kept: string, databaseFile: string): boolean {
  const [old, current] = [kept, databaseFile].map((file) => statSync(file, { throwIfNoEntry: false }));
  if (old === undefined || current === undefined) return false;
  return old.dev === current.dev && old.ino !== current.ino;
}

interface StagedFile {
  readonly file: string;
  readonly nowMs: number;
  readonly isApplied: boolean;
}

function stagedIn(dir: string): StagedFile | null {
  for (const name of namesIn(dir)) {
    const match = stagedName.exec(name);
    if (match === null) continue;
    return { file: join(dir, name), nowMs: Number(match[1]), isApplied: match[2] !== undefined };
  }
  return null;
}
