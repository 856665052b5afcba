import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";

/**
 * Counts the changes that a running gateway must apply. It is raised in the transaction that makes the change, and write
 * transactions are serialized, so a reader that is at a revision has seen every change up to it.
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
