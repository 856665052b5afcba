/** Damage of the ledger's files that was found. */
export interface LedgerDamage {
  readonly atMs: number;
  /** What was found, and what to do. */
  readonly text: string;
}

/** Operations that only an open store of files (SQLite) has. */
export interface StoreFiles {
  /** The path to which `close` copied the whole store because its own file was gone; null if that was not necessary. */
  readonly rescuedTo: string | null;
  /** Null while the database and its log are intact, as far as is known. */
  readonly damage: LedgerDamage | null;
  /** Checks the whole database if that is due, once a week. */
  checkIfDue(nowMs: number): Promise<void>;
  /** Checks the whole database and makes a complete copy, while others keep reading and writing. Never overwrites a file. */
  backup(file: string): Promise<void>;
  /** The error to show instead of this one if the disk is full; other errors are returned unchanged. */
  explain(error: unknown): unknown;
}

export interface RestoreResult {
  /** The path of the replaced database; null if there was none. */
  readonly replaced: string | null;
}

/** Operations on a data folder whose store is not open. Times are wall-clock times. */
export interface FolderMaintenance {
  /** False for a folder without data. Throws `ledger_missing` if there has been a database and it is gone. */
  hasData(): boolean;
  /** Puts an empty ledger where one was lost. Throws if there is one. */
  beginNewLedger(nowMs: number): Promise<void>;
  /** Why the folder cannot be used, as the end of a sentence; null if the error has another cause. */
  describeProblem(error: unknown): string | null;

  /** Replaces the data by a backup, and keeps the replaced data. Fails with `in_use` while a gateway runs. */
  restore(from: string, nowMs: number): Promise<RestoreResult>;
  /** Completes or drops an interrupted restore. Returns a sentence about the result; null if there was none. */
  finishRestore(nowMs: number): Promise<string | null>;

  /** Checks a backup and stages it for the running gateway to restore. */
  stageRestore(from: string, nowMs: number): Promise<void>;
  hasStagedRestore(): boolean;
  /** Resolves once no other program has the database locked; rejects after some seconds. */
  awaitUnlocked(): Promise<void>;
  /** Restores the staged backup; null if there is none. It stays staged until `endStagedRestore`. */
  applyStagedRestore(): Promise<RestoreResult | null>;
  /** The staged backup is now in use, or failed for this reason. */
  endStagedRestore(failure?: string): void;
  /** The result of the backup staged at this time, once it is no longer staged. */
  stagedOutcome(nowMs: number): Promise<RestoreResult | { readonly failure: string }>;
}
