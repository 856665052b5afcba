import type { BatchOwner, FileQuota, QuotaProblem, RetriedCreation } from "./file-records.ts";
import type { LongBody } from "./tables/long-body.ts";

export type BatchStatus =
  | ("validating" | "failed" | "in_progress")
  | ("cancelling" | "cancelled" | "expired" | "completed");

/** What operators see of a batch, whatever its API. */
export type BatchState = "running" | "waiting" | "paused" | "ended";

/** Why lines that never ran have no result. */
export type RestCode = "batch_cancelled" | "batch_expired" | "insufficient_credit";

export interface NewBatch {
  readonly id: string;
  readonly keyId: string;
  readonly fileId: string;
  readonly endpoint: string;
  /** What the client has sent with it, as JSON. */
  readonly request: string;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

/** The process that validates a batch, how many unfinished ones its key may have, and what it may store. */
export interface BatchBeginning {
  readonly node: number;
  readonly maxOpen: number;
  readonly quota: FileQuota;
}

/** How many lines a batch has, what they would hold in all, and its `request` with what they have in common. */
export interface BatchLines extends Pick<NewBatch, "request"> {
  readonly total: number;
  readonly estimate: number;
}

export interface BatchTokens {
  readonly inputTokens: number;
  readonly cachedTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

export interface BatchRecord extends NewBatch, BatchTokens {
  readonly keyPrefix: string;
  readonly keyLabel: string | null;
  readonly status: BatchStatus;
  /** As JSON, of one that has failed. */
  readonly errors: string | null;
  readonly inProgressAtMs: number | null;
  readonly cancellingAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  /** How many of the failed ones never ran, once it has ended. */
  readonly rest: number;
  /** What its lines would hold in all: nano-credits or tokens. Null if that is unknown. */
  readonly estimate: number | null;
  /** What its lines were charged: nano-credits or tokens. */
  readonly charged: number;
  readonly restCode: RestCode | null;
  /** What it waits for, and since when; null while it runs. */
  readonly waitsFor: string | null;
  readonly waitsSinceMs: number | null;
  /** It was copied, and its lines may have run since. */
  readonly isPaused: boolean;
  /** When lines of it at a provider are looked at next; null if there are none. */
  readonly providerDueMs: number | null;
  /** Null if there is none (yet), or it was deleted. */
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
}

/** A request of a batch: where its body is in the file. */
export interface BatchLine {
  readonly no: number;
  readonly customId: string;
  readonly start: number;
  readonly length: number;
}

export interface NewLine extends BatchLine {
  /** The model that it calls; null if that is unknown. */
  readonly model: string | null;
}

export interface ClaimedLine extends BatchLine {
  readonly batchId: string;
  /** The process that runs it. What a process does that has lost it to another has no effect. */
  readonly node: number;
  readonly model: string | null;
  /** How many processes have ended while they ran it. */
  readonly crashes: number;
  /** How many of its runs have reached a provider. */
  readonly tries: number;
  /** How often its provider's batch was cancelled by others. */
  readonly cancellations: number;
}

export type OwnedLine = Pick<ClaimedLine, "batchId" | "no" | "node">;

export interface LineEnd extends BatchTokens {
  readonly status: number;
  /** The id of the run that was charged, or of the last one. */
  readonly requestId: string;
  readonly charged: number;
  /** The response of one that was not charged; else it is stored with its charge. */
  readonly error: Uint8Array | null;
  /** The length of the line that a client downloads. */
  readonly bytes: number;
}

/** Why nothing of a batch runs. */
export interface RejectedInput {
  /** As JSON. */
  readonly errors: string;
  readonly atMs: number;
  readonly keptUntilMs: number;
}

/** What a batch that ends gets. */
export interface BatchEnd {
  readonly atMs: number;
  readonly keptUntilMs: number;
  /** When its files are deleted, at the latest with the batch. */
  readonly outputUntilMs: number;
  readonly outputFileId: string;
  readonly errorFileId: string;
}

/** A line with its response. */
export interface LineResult {
  readonly no: number;
  readonly customId: string;
  /** Null if it never ran. */
  readonly status: number | null;
  readonly requestId: string | null;
  readonly error: Uint8Array | null;
  /** What was stored with its charge. */
  readonly response: LongBody | null;
}

export interface ChargedResponse extends LongBody {
  readonly status: number;
  /** The request that was charged. */
  readonly requestId: string;
}

export interface BatchQuery {
  readonly owner: BatchOwner;
  /** The beginning of the ids: of which API. */
  readonly prefix: string;
  readonly limit: number;
  /** The batch before the first one to be listed, or behind the last one; newest first. */
  readonly after: string | null;
  readonly before: string | null;
}

export interface BatchSearch {
  readonly keyId: string | null;
  /** `open`: all that have not ended. */
  readonly state: BatchState | "open" | null;
  readonly limit: number;
  readonly after: string | null;
}

/** The requests of batches, which any process can run. */
export interface LineRecords {
  /** False if the key may not store them. */
  addLines(batchId: string, lines: readonly NewLine[], bytesPerKey: number): Promise<boolean>;
  /** Results after this line. */
  results(
    batchId: string,
    kind: "output" | "errors" | "all",
    afterNo: number,
    limit: number,
  ): Promise<readonly LineResult[]>;
  /** What was stored with the charge of a line; null if it was not charged. */
  charged(batchId: string, no: number): Promise<ChargedResponse | null>;
  /** Null if a part of it is missing. */
  whole(body: LongBody): Promise<Uint8Array | null>;
  /** As `whole`, one part after the other. It throws if one is deleted meanwhile. */
  inParts(body: LongBody): Promise<AsyncIterable<Uint8Array> | null>;
  /** The first line that is due, and calls none of these models, for this process to run; null if none is. */
  claim(batchId: string, node: number, nowMs: number, except: readonly string[]): Promise<ClaimedLine | null>;
  /** The line runs again. */
  requeue(line: OwnedLine, dueAtMs: number, hasReached: boolean, isCancelled?: boolean): Promise<void>;
  /** Its result. The last one ends the batch. False if another process has the line. */
  endLine(line: OwnedLine, result: LineEnd, batchEnd: BatchEnd): Promise<boolean>;
  /** Ends a batch with the results that it has, unless lines of it run. */
  finish(
    batchId: string,
    status: "cancelled" | "expired" | "completed",
    restCode: RestCode,
    end: BatchEnd,
  ): Promise<boolean>;
  /** Frees lines that nothing runs, of this process and of processes that are gone. Returns how many run again. */
  free(node: number, running: readonly string[]): Promise<number>;
  /** Deletes some lines after this one, with their results. Returns the last of them; null if there was none. */
  deleteResults(
    batchId: string,
    kind: "output" | "errors",
    afterNo: number,
    limit: number,
  ): Promise<number | null>;
}

/** Batches of requests. */
export interface BatchRecords extends LineRecords {
  /** Its lines follow, then `start` or `fail`, with what a retry of the create gets. Null if it has begun; "open" if the key has too many that have not ended. */
  begin(batch: NewBatch, beginning: BatchBeginning): Promise<QuotaProblem | "open" | null>;
  /** Tells all processes. */
  start(batchId: string, lines: BatchLines, atMs: number, retry: RetriedCreation | null): Promise<void>;
  fail(batchId: string, failure: RejectedInput, retry: RetriedCreation | null): Promise<void>;

  find(owner: BatchOwner, id: string): Promise<BatchRecord | null>;
  /** Newest first. Null if `after` or `before` is unknown. */
  list(query: BatchQuery): Promise<readonly BatchRecord[] | null>;
  /** From now on no line starts. False if it has ended, or not begun. */
  cancel(keyId: string, id: string, atMs: number): Promise<boolean>;

  /** Batches of any key, or of this one; newest first. Null if `after` is unknown. */
  search(query: BatchSearch): Promise<readonly BatchRecord[] | null>;
  /** A batch of any key. */
  get(id: string): Promise<BatchRecord | null>;
  /** A copy's batch runs on. False if it is not paused. Tells all processes. */
  resume(id: string): Promise<boolean>;
  /** How many lines of batches that have not ended wait, and how many run. */
  countLines(): Promise<{ readonly waiting: number; readonly running: number }>;

  /** All that have started and not ended, oldest first. */
  open(): Promise<readonly BatchRecord[]>;
  /** Notes what it waits for; null if for nothing. */
  wait(batchId: string, waitsFor: string | null, atMs: number): Promise<void>;
  /** Deletes it, once its lines are deleted. */
  delete(keyId: string, id: string): Promise<void>;
  /** Ends that are this old, or belong to revoked keys. */
  outdated(nowMs: number): Promise<readonly Pick<BatchRecord, "id" | "keyId">[]>;
  /** Batches that nothing validates any more: of this process, except for these, and of processes that are gone. */
  abandoned(
    node: number,
    validating: readonly string[],
  ): Promise<readonly Pick<BatchRecord, "id" | "keyId">[]>;
}
