import type { StoredResponse } from "./records.ts";

/** `uploading` is an input that is not complete. The results of batches are read from their lines. */
export type FileKind = "batch" | "requests" | "uploading" | "output" | "errors";

export interface FileRecord {
  readonly id: string;
  readonly keyId: string;
  readonly kind: FileKind;
  readonly name: string;
  readonly bytes: number;
  /** The batch whose results it has; null for an input. */
  readonly batchId: string | null;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** Whose files and batches a client sees: its key's, or also the other keys' of its account. */
export interface BatchOwner {
  readonly keyId: string;
  readonly withAccount: boolean;
}

export interface FileQuery {
  readonly owner: BatchOwner;
  readonly kinds: readonly FileKind[];
  readonly limit: number;
  /** The id of the file before the first one to be listed. */
  readonly after: string | null;
  readonly isAscending: boolean;
  /** What has expired by then is not listed. */
  readonly nowMs: number;
}

/** A stored response whose body is the id of what a request has created. */
export interface RetriedCreation {
  readonly response: StoredResponse;
  /** The request that holds the claim. */
  readonly exchangeId: string;
}

/** What clients have uploaded for batches, and what they are shown of their results. */
export interface FileRecords {
  /** Free bytes of the disk; null for a database that manages its own space. */
  freeBytes(): number | null;
  /** Its parts follow, then `complete`. */
  begin(file: FileRecord): Promise<void>;
  addPart(id: string, sequence: number, body: Uint8Array): Promise<void>;
  /**
   * `retry` is what a retry with its idempotency key gets. False if the key's files would have more bytes than it may store: other
   * uploads were faster.
   */
  complete(file: FileRecord, bytesPerKey: number, retry: RetriedCreation | null): Promise<boolean>;

  find(owner: BatchOwner, id: string): Promise<FileRecord | null>;
  /** Null if `after` is unknown. */
  list(query: FileQuery): Promise<readonly FileRecord[] | null>;
  part(id: string, sequence: number): Promise<Uint8Array | null>;
  /** Bytes of the key's inputs and results. */
  bytesOf(keyId: string): Promise<number>;
  /** An open batch that reads it; null if there is none. */
  usedBy(id: string): Promise<string | null>;
  /** Deletes nothing while an open batch reads it. Returns whether it did. */
  delete(keyId: string, id: string): Promise<boolean>;
  /** Some files of results that have expired before their batch. */
  expiredResults(nowMs: number): Promise<readonly FileRecord[]>;
  /** Deletes some inputs that have expired or belong to a revoked key, unless an open batch reads them. Returns how many. */
  prune(nowMs: number): Promise<number>;
}
