/** What retention deletes. */
export type Pruned = "exchanges" | "responses";

export interface Pruning {
  readonly what: Pruned;
  readonly atMs: number;
  /** How many were deleted then. */
  readonly pruned: number;
}

/** How much there is, and how much room it takes. */
export interface StorageFigures extends StoreSizes {
  readonly accounts: number;
  readonly keys: number;
  /** Exchanges that cost nothing. */
  readonly endings: number;
  readonly responses: number;
  readonly responseBytes: number;
  /** Those that are kept for retries with an idempotency key. */
  readonly retryResponses: number;
  readonly retryResponseBytes: number;
  readonly auditRecords: number;
  /** The last of each kind. */
  readonly prunings: readonly Pruning[];
}

/** What each database finds out in its own way. */
export interface StoreSizes {
  readonly databaseBytes: number;
  /** What is written and not yet in the database's file; null where that is the server's affair, as is the disk. */
  readonly journalBytes: number | null;
  readonly diskFreeBytes: number | null;
  readonly entries: number;
}
