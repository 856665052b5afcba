import { assert } from "../../../base/assert.ts";
import type { Query } from "../client.ts";

interface RevisionRow {
  readonly revision: number;
}

export async function readRevision(query: Query): Promise<number> {
  return revisionOf(await query<RevisionRow>("SELECT revision::float8 AS revision FROM state"));
}

/**
 * Must be the first lock of a transaction that changes a key or a balance. All such transactions run one after the
 * other, so a reader that is at a revision has seen every change up to it.
 */
export async function lockRevision(query: Query): Promise<void> {
  await query("SELECT revision FROM state FOR UPDATE");
}

export async function raiseRevision(query: Query): Promise<number> {
  const raise = "UPDATE state SET revision = revision + 1 RETURNING revision::float8 AS revision";
  return revisionOf(await query<RevisionRow>(raise));
}

function revisionOf([row]: readonly RevisionRow[]): number {
  assert(row !== undefined, "the state has one row");
  return row.revision;
}
