import type { JournalItem } from "../records.ts";

/**
 * Writes one batch as one transaction, durable when it returns. There are two: in the thread that asks, and in
 * a thread of its own. A failure is thrown as a `BatchFailure` in both.
 */
export interface BatchWriter {
  /** With `rollUp`, the usage sums of the batches before are written along. */
  write(items: readonly JournalItem[], rollUp: boolean): Promise<void> | void;
  close(): Promise<void> | void;
}

/** A writer that says how long its last commit took: the part of a batch in which SQLite waits for the disk. */
export interface TimedWriter extends BatchWriter {
  readonly lastCommitMs: number;
}

/** Plain enough to cross from one thread to another. */
export class BatchFailure extends Error {
  /** The SQLite result code, such as `SQLITE_FULL`; empty when the failure is not SQLite's. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "BatchFailure";
    this.code = code;
  }
}
