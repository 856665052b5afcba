/** What retention deletes. */
export type PrunedKind = "exchanges" | "responses";

export interface Pruning {
  readonly what: PrunedKind;
  readonly atMs: number;
  /** Number of deleted rows. */
  readonly pruned: number;
}

/** Number of records, and the space that they take. */
export interface StorageStats extends StoreSizes {
  readonly accounts: number;
  readonly keys: number;
  /** Rows of the request log. */
  readonly loggedRequests: number;
  readonly responses: number;
  readonly responseBytes: number;
  /** Responses kept for retries with an idempotency key. */
  readonly retryResponses: number;
  readonly retryResponseBytes: number;
  readonly batches: number;
  /** Inputs and results of batches. */
  readonly files: number;
  readonly fileBytes: number;
  readonly auditRecords: number;
  /** The last pruning of each kind. */
  readonly prunings: readonly Pruning[];
}

/** Sizes that each database determines in its own way. */
export interface StoreSizes {
  readonly databaseBytes: number;
  /** Bytes written but not yet in the database file. Null on PostgreSQL, like the disk's free space. */
  readonly journalBytes: number | null;
  readonly diskFreeBytes: number | null;
  readonly entries: number;
}
