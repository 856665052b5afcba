import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../base/assert.ts";

/**
 * The count of changes that a running gateway must hear of. It is raised inside the transaction that makes the
 * change, and transactions that write come one after the other, so whoever has read up to a revision has read all.
 */
export class Revision {
  readonly #read: Statement<{ revision: number }, []>;
  readonly #raise: Statement<{ revision: number }, []>;

  constructor(database: Database) {
    this.#read = database.query("SELECT revision FROM state");
    this.#raise = database.query("UPDATE state SET revision = revision + 1 RETURNING revision");
  }

  read(): number {
    return revisionOf(this.#read.get());
  }

  raise(): number {
    return revisionOf(this.#raise.get());
  }
}

function revisionOf(row: { readonly revision: number } | null): number {
  assert(row !== null, "the state has one row");
  return row.revision;
}
