import type { Database, Statement } from "bun:sqlite";
import type { GivenId } from "../../records.ts";
import type { OldestPruning } from "../../store.ts";

/** Reads and prunes which ids of a provider a key was given. */
export class GivenIdTable {
  readonly #database: Database;
  readonly #find: Statement<GivenId, [string, string]>;

  constructor(database: Database) {
    this.#database = database;
    this.#find = database.query(findGiven);
  }

  /** In the given order; null for ids that the key was not given. */
  find(keyId: string, digests: readonly string[]): (GivenId | null)[] {
    return digests.map((digest) => this.#find.get(keyId, digest));
  }

  /** Numbers grow with time, so the oldest rows are the first ones. Inside the caller's transaction. */
  prune({ beforeMs, keep, limit }: OldestPruning): number {
    return this.#database.query<never, [number, number, number]>(deleteOldest).run(limit, beforeMs, keep)
      .changes;
  }
}

const findGiven = `
SELECT provider, credential, tokens FROM given_ids WHERE key_no = (SELECT no FROM keys WHERE id = ?) AND digest = ?`;

const deleteOldest = `
DELETE FROM given_ids
WHERE no IN (SELECT no FROM given_ids ORDER BY no LIMIT ?1)
  AND (given_at_ms < ?2 OR no <= (SELECT max(no) FROM given_ids) - ?3)`;
