import type { Database } from "bun:sqlite";
import type { OldestPruning } from "../../store.ts";

/** Reads and prunes the ids that clients gave their calls. */
export class CallerIdTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The exchanges that a client gave this id, newest first. */
  find(callerId: string, limit: number): string[] {
    return this.#database
      .query<{ exchangeId: string }, [string, number]>(findCalled)
      .all(callerId, limit)
      .map(({ exchangeId }) => exchangeId);
  }

  /** Numbers grow with time, so the oldest rows are the first ones. Inside the caller's transaction. */
  prune({ beforeMs, keep, limit }: OldestPruning): number {
    return this.#database.query<never, [number, number, number]>(deleteOldest).run(limit, beforeMs, keep)
      .changes;
  }
}

const findCalled = `
SELECT exchange_id AS exchangeId FROM caller_ids WHERE caller_id = ? ORDER BY no DESC LIMIT ?`;

const deleteOldest = `
DELETE FROM caller_ids
WHERE no IN (SELECT no FROM caller_ids ORDER BY no LIMIT ?1)
  AND (at_ms < ?2 OR no <= (SELECT max(no) FROM caller_ids) - ?3)`;
