import { existsSync } from "node:fs";
import type { FolderMaintenance } from "../../files.ts";
import { dataFolder } from "./folder.ts";
import { describeFolderProblem } from "./folder-problem.ts";
import { finishRestore, rejectMissingLedger } from "./missing-ledger.ts";
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
