import type { Database, Statement } from "bun:sqlite";
import type { OutcomeRecord } from "../../records.ts";
import { outcomeColumns, outcomeRow } from "../../written-rows.ts";

/** Writes the outcomes of exchanges, inside the batch's transaction. */
export class OutcomeWriter {
  readonly #insert: Statement;

  constructor(database: Database) {
    this.#insert = database.query(insertOutcome);
  }

  /** `entryId` is the entry of its charge; null without a charge. */
  insert(keyNo: number, record: OutcomeRecord, entryId: number | null): void {
    this.#insert.run({ key_no: keyNo, entry_id: entryId, ...outcomeRow(record) });
  }
}

const written = ["key_no", "entry_id", ...outcomeColumns];

const insertOutcome = `
INSERT INTO exchange_endings (${written.join(", ")}) VALUES (${written.map((column) => `$${column}`).join(", ")})`;
