import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { syncFile } from "./backup.ts";
import { dataFolder } from "./folder.ts";
import {
  keptAs,
  type Restored,
  type RestoreOptions,
  restoreDatabase,
  takeCopy,
  verifyCopy,
} from "./restore.ts";

/**
 * A restore while a gateway has the folder: balances are decided in its memory, so it has to put the copy in
 * place itself, when nothing runs. The copy waits in the folder under a name that says when it was handed in.
 */
const stagedName = /^sluice\.restore-(\d+)$/;

/** Checks the copy and leaves it for the gateway. */
export function stageRestore({ dir, from, nowMs }: RestoreOptions): void {
  verifyCopy(from);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const unfinished = join(dir, "sluice.restore.unfinished");
  takeCopy(from, unfinished);
  renameSync(unfinished, join(dir, `sluice.restore-${nowMs}`));
  syncFile(dir);
}

export function hasStagedRestore(dir: string): boolean {
  return stagedIn(dir) !== null;
}

/**
 * Puts a waiting copy in place; null when there is none. It stays in the folder until `endStagedRestore`, so
 * that a crash in between is made good at the next start, and not done twice.
 */
export function applyStagedRestore(dir: string): Restored | null {
  const staged = stagedIn(dir);
  if (staged === null) return null;
  const isInPlace = wasApplied(dir, staged.nowMs) && existsSync(dataFolder(dir).databaseFile);
  if (isInPlace) return { replaced: keptAs(dir, staged.nowMs) };
  return restoreDatabase({ dir, from: staged.file, nowMs: staged.nowMs });
}

/** The copy is in place and in use, or it could not be put there: whoever handed it in need not wait any more. */
export function endStagedRestore(dir: string): void {
  const staged = stagedIn(dir);
  if (staged !== null) rmSync(staged.file, { force: true });
}

/** Whether the copy that was handed in at this moment has been put in place. */
export function wasApplied(dir: string, nowMs: number): boolean {
  return existsSync(keptAs(dir, nowMs));
}

function stagedIn(dir: string): { readonly file: string; readonly nowMs: number } | null {
  const isFolder = statSync(dir, { throwIfNoEntry: false })?.isDirectory() === true;
  for (const name of isFolder ? readdirSync(dir) : []) {
    const stamp = stagedName.exec(name)?.[1];
    if (stamp !== undefined) return { file: join(dir, name), nowMs: Number(stamp) };
  }
  return null;
}
