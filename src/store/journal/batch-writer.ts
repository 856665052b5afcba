import type { JournalItem } from "../records.ts";

/**
 * Writes one batch as one transaction, durable when `write` returns or resolves. Throws only a `BatchFailure`, and
 * nothing for failures after the batch is durable.
 */
export interface BatchWriter {
  /** With `isAlone`, no other write is about to follow, so the writer can wait for the disk in place. */
  write(items: readonly JournalItem[], isAlone?: boolean): Promise<void> | void;
}

/**
 * Why a batch was not written, in terms that every database has:
 *
 * - `full`: no space left, or the disk fails. Retried; the reserve is spent.
 * - `busy`: locked by another process, or short of memory. Retried.
 * - `damaged`: the database cannot be used until the next start. Whether the batch is on disk is unknown.
 * - `rejected`: the database rejects one of the items, and always will. The batch was rolled back.
 */
export type FailureReason = "full" | "busy" | "damaged" | "rejected";

/** Plain enough to be passed between threads. */
export class BatchFailure extends Error {
  readonly reason: FailureReason;

  constructor(reason: FailureReason, message: string) {
    super(message);
    this.name = "BatchFailure";
    this.reason = reason;
  }
}

/** Any other error counts as damage: the writer could not classify it. */
export function reasonOf(error: unknown): FailureReason {
  return error instanceof BatchFailure ? error.reason : "damaged";
}
