import type { Database, Statement } from "bun:sqlite";
import type { ExchangeEnding, JournalItem } from "../../records.ts";
import { endingColumns, endingRow } from "../../written-rows.ts";

/** Writes how exchanges ended, and deletes the oldest; inside the batch's transaction. */
export class EndingWriter {
  readonly #insert: Statement;
  readonly #prune: Statement;
  #lastId = 0;

  constructor(database: Database) {
    this.#insert = database.query(insertEnding);
    this.#prune = database.query(pruneEndings);
  }

  /** `entryId` is that of its charge; null where nothing was charged. */
  insert(keyNo: number, ending: ExchangeEnding, entryId: number | null): void {
    const { lastInsertRowid } = this.#insert.run({ key_no: keyNo, entry_id: entryId, ...endingRow(ending) });
    this.#lastId = Number(lastInsertRowid);
  }

  prune({ beforeMs, newest, limit }: JournalItem & { kind: "prune" }): void {
    this.#prune.run(limit, beforeMs, newest);
  }

  /** The id of the batch's last ending; 0 when it had none. */
  takeLastId(): number {
    const lastId = this.#lastId;
    this.#lastId = 0;
    return lastId;
  }
}

const written = ["key_no", "entry_id", ...endingColumns];

const insertEnding = `
INSERT INTO exchange_endings (${written.join(", ")}) VALUES (${written.map((column) => `$${column}`).join(", ")})`;

/**
 * Ids have no gaps, so the newest ones are found without counting. Endings that are not part of the sums yet are kept,
 * because after a crash the sums are completed from them.
 */
const pruneEndings = `
DELETE FROM exchange_endings WHERE id IN (SELECT id FROM exchange_endings ORDER BY id LIMIT ?1)
  AND id <= (SELECT endings_rolled_up_through FROM state)
  AND (at_ms < ?2 OR id <= (SELECT max(id) FROM exchange_endings) - ?3)`;
