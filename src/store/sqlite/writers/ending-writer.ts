import type { Database, Statement } from "bun:sqlite";
import type { ExchangeEnding } from "../../records.ts";
import { endingColumns, endingRow } from "../../written-rows.ts";

/** Writes the outcomes of exchanges, inside the batch's transaction. */
export class EndingWriter {
  readonly #insert: Statement;

  constructor(database: Database) {
    this.#insert = database.query(insertEnding);
  }

  /** `entryId` is the entry of its charge; null without a charge. */
  insert(keyNo: number, ending: ExchangeEnding, entryId: number | null): void {
    this.#insert.run({ key_no: keyNo, entry_id: entryId, ...endingRow(ending) });
  }
}

const written = ["key_no", "entry_id", ...endingColumns];

const insertEnding = `
INSERT INTO exchange_endings (${written.join(", ")}) VALUES (${written.map((column) => `$${column}`).join(", ")})`;
