import { existsSync } from "node:fs";
import { systemCode } from "../../../base/system/system-code.ts";
import type { FolderMaintenance } from "../../files.ts";
import { dataFolder } from "./folder.ts";
import { beginNewLedger, finishRestore, rejectMissingLedger } from "./missing-ledger.ts";
import { restoreDatabase } from "./restore.ts";
import * as staged from "./staged-restore.ts";

export function sqliteMaintenance(dir: string): FolderMaintenance {
  const folder = dataFolder(dir);
  return {
    hasData() {
      if (existsSync(folder.databaseFile)) return true;
      rejectMissingLedger(folder);
      return false;
    },
    beginNewLedger: (nowMs) => beginNewLedger(dir, nowMs),
    describeProblem: describeFolderProblem,
    restore: (from, nowMs) => restoreDatabase({ dir, from, nowMs }),
    finishRestore: (nowMs) => finishRestore(dir, nowMs),
    stageRestore: (from, nowMs) => staged.stageRestore({ dir, from, nowMs }),
    hasStagedRestore: () => staged.hasStagedRestore(dir),
    awaitUnlocked: () => staged.awaitUnlocked(dir),
    applyStagedRestore: () => staged.applyStagedRestore(dir),
    endStagedRestore: (failure) => staged.endStagedRestore(dir, failure),
    stagedOutcome: (nowMs) => staged.outcomeOf(dir, nowMs),
  };
}

/** Why a data folder cannot be used, by the system's or SQLite's error code; null for other errors. */
function describeFolderProblem(error: unknown): string | null {
  switch (systemCode(error)) {
    case "EEXIST":
    case "ENOTDIR":
    case "ELOOP":
      return "is not a folder;";
    case "EACCES":
    case "EPERM":
      return isFromCreation(error)
        ? "cannot be created: permission denied;"
        : "cannot be used: permission denied; run this as its owner or root, or";
    case "EROFS":
    case "SQLITE_READONLY":
    case "SQLITE_READONLY_DBMOVED":
    case "SQLITE_READONLY_DIRECTORY":
      return "is read-only; make it writable, or";
    case "ENOENT":
    case "EINVAL":
    case "ENAMETOOLONG":
    case "ENODEV":
    case "SQLITE_CANTOPEN":
      return "cannot be created;";
    case "EISDIR":
      return "has a folder in place of its database;";
    default:
      return null;
  }
}

function isFromCreation(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "mkdir";
}
