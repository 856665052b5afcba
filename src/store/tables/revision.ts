import { assert } from "../../base/assert.ts";
import { query, type Work } from "../query.ts";
import { StoreError } from "../store-error.ts";

/**
 * Counts the changes that a running gateway must apply. Raised in the transaction of the change. These transactions
 * run one after the other, so a reader at a revision has seen every change up to it.
 */
export interface RevisionRow {
  readonly revision: number;
}

export const selectRevision = "SELECT revision::float8 AS revision FROM state";

export function* readRevision(): Work<number> {
  return revisionOf(yield* query<RevisionRow>(selectRevision));
}

/** Must be the first lock of a transaction that changes a key or a balance. */
export function* lockRevision(): Work<void> {
  yield* query("SELECT revision FROM state FOR UPDATE");
}

/** Throws `changed` if anything was changed since. Comes after `lockRevision`. */
export function* rejectChanged(sinceRevision: number | undefined): Work<void> {
  if (sinceRevision === undefined || (yield* readRevision()) === sinceRevision) return;
  throw new StoreError("changed", "Someone else changed this at the same time. Try again.");
}

export function* raiseRevision(): Work<number> {
  const raise = "UPDATE state SET revision = revision + 1 RETURNING revision::float8 AS revision";
  return revisionOf(yield* query<RevisionRow>(raise));
}

export function revisionOf([row]: readonly RevisionRow[]): number {
  assert(row !== undefined, "the state has one row");
  return row.revision;
}
