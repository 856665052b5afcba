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
  /** The place of the file before the first one to be listed. */
  readonly afterNo: number | null;
  readonly isAscending: boolean;
  /** What has expired by then is not listed. */
  readonly nowMs: number;
}

/** A file and its place among all files, which grows with time. */
export interface ListedFile extends FileRecord {
  readonly no: number;
}

/** What a key may store. */
export interface FileQuota {
  /** Inputs count, also while they are written, results, and what batches take in addition: 1 KB each at least. */
  readonly bytesPerKey: number;
  /** Files, and as many batches. */
  readonly filesPerKey: number;
}

/** Why something was not stored: the key has too many of these, or its bytes are used up. */
export type QuotaProblem = "files" | "batches" | "bytes";

/** A stored response whose body is the id of what a request has created. */
export interface RetriedCreation {
  readonly response: StoredResponse;
  /** The request that holds the claim. */
  readonly exchangeId: string;
}

export interface FilePart {
  readonly fileId: string;
  readonly sequence: number;
  /** As it is stored. */
  readonly body: Uint8Array;
  /** Before it was encrypted. */
  readonly bytes: number;
}

/** What clients have uploaded for batches, and what they are shown of their results. */
export interface FileRecords {
  /** Free bytes of the disk; null for a database that manages its own space. */
  freeBytes(): number | null;
  /** Its parts follow, then `complete`. Null if it has begun. */
  begin(file: FileRecord, quota: FileQuota): Promise<QuotaProblem | null>;
  /** Counts its bytes from now on. False if the key may not store them, or the file was deleted. */
  addPart(part: FilePart, bytesPerKey: number): Promise<boolean>;
  /** `retry` is what a retry with its idempotency key gets. False if it was deleted, because it took too long. */
  complete(file: FileRecord, retry: RetriedCreation | null): Promise<boolean>;

  find(owner: BatchOwner, id: string): Promise<FileRecord | null>;
  list(query: FileQuery): Promise<readonly ListedFile[]>;
  /** The place of a file in lists; null if it is unknown. */
  placeOf(owner: BatchOwner, id: string): Promise<number | null>;
  part(id: string, sequence: number): Promise<Uint8Array | null>;
  /** What counts toward the bytes that the key may store. */
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
