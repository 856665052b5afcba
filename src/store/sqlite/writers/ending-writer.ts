import type { Database, Statement } from "bun:sqlite";
import type { ExchangeEnding } from "../../records.ts";
import { endingColumns, endingRow } from "../../written-rows.ts";

/** Writes how exchanges ended; inside the batch's transaction. */
export class EndingWriter {
  readonly #insert: Statement;
  #lastId = 0;

  constructor(database: Database) {
    this.#insert = database.query(insertEnding);
  }

  /** `entryId` is that of its charge; null where nothing was charged. */
  insert(keyNo: number, ending: ExchangeEnding, entryId: number | null): void {
    const { lastInsertRowid } = this.#insert.run({ key_no: keyNo, entry_id: entryId, ...endingRow(ending) });
    this.#lastId = Number(lastInsertRowid);
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
