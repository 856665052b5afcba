import { existsSync } from "node:fs";
import type { FolderMaintenance, Restored } from "../../files.ts";
import { type DataFolder, dataFolder } from "./folder.ts";
import { describeFolderProblem } from "./folder-problem.ts";
import { finishRestore, refuseMissingLedger } from "./missing-ledger.ts";
import { restoreDatabase } from "./restore.ts";
import {
  applyStagedRestore,
  awaitUnlocked,
  endStagedRestore,
  hasStagedRestore,
  outcomeOf,
  stageRestore,
} from "./staged-restore.ts";

export class SqliteMaintenance implements FolderMaintenance {
  readonly #folder: DataFolder;

  constructor(dir: string) {
    this.#folder = dataFolder(dir);
  }

  hasData(): boolean {
    if (existsSync(this.#folder.databaseFile)) return true;
    refuseMissingLedger(this.#folder);
    return false;
  }

  describeProblem(error: unknown): string | null {
    return describeFolderProblem(error);
  }

  restore(from: string, nowMs: number): Promise<Restored> {
    return restoreDatabase({ dir: this.#folder.dir, from, nowMs });
  }

  finishRestore(nowMs: number): Promise<string | null> {
    return finishRestore(this.#folder.dir, nowMs);
  }

  stageRestore(from: string, nowMs: number): Promise<void> {
    return stageRestore({ dir: this.#folder.dir, from, nowMs });
  }

  hasStagedRestore(): boolean {
    return hasStagedRestore(this.#folder.dir);
  }

  awaitUnlocked(): Promise<void> {
    return awaitUnlocked(this.#folder.dir);
  }

  applyStagedRestore(): Promise<Restored | null> {
    return applyStagedRestore(this.#folder.dir);
  }

  endStagedRestore(refusal: string | null = null): void {
    endStagedRestore(this.#folder.dir, refusal);
  }

  stagedOutcome(nowMs: number): Promise<Restored | { readonly refusal: string }> {
    return outcomeOf(this.#folder.dir, nowMs);
  }
}
