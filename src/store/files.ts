/** What an open store can do only if it is made of files, as SQLite's is. */
export interface StoreFiles {
  /** Where `close` copied the whole store because its own file was gone; null if there was no need. */
  readonly rescuedTo: string | null;
  /** Makes a complete copy while others keep reading and writing. Refuses to overwrite a file. */
  backup(file: string): Promise<void>;
  /** The refusal to show instead of this error if the disk is full; other errors are returned as they are. */
  explain(error: unknown): unknown;
}

export interface Restored {
  /** Where the replaced database is kept; null if there was none. */
  readonly replaced: string | null;
}

/** What can be done to a data folder without opening its store. Moments are wall-clock times. */
export interface FolderMaintenance {
  /** False for a folder without data. Throws `ledger_missing` if there has been a database and it is gone. */
  hasData(): boolean;
  /** Describes why the folder cannot be used, as the end of a sentence; null if this error is about something else. */
  describeProblem(error: unknown): string | null;

  /** Replaces the data by a backup and keeps what it replaces. Refused while a gateway runs (`in_use`). */
  restore(from: string, nowMs: number): Promise<Restored>;
  /** Completes or drops a restore that was interrupted. Returns a sentence that says which; null if there was none. */
  finishRestore(nowMs: number): Promise<string | null>;

  /** Checks a backup and leaves it for the running gateway to restore. */
  stageRestore(from: string, nowMs: number): Promise<void>;
  hasStagedRestore(): boolean;
  /** Resolves once no other program has the database locked; rejects after some seconds. */
  awaitUnlocked(): Promise<void>;
  /** Restores the staged backup; null if there is none. It stays staged until `endStagedRestore`. */
  applyStagedRestore(): Promise<Restored | null>;
  /** The staged backup is in use, or was refused for this reason. */
  endStagedRestore(refusal?: string): void;
  /** What became of the backup that was staged at this moment, once it is no longer staged. */
  stagedOutcome(nowMs: number): Promise<Restored | { readonly refusal: string }>;
}
