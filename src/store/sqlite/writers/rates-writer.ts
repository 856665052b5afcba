import type { Database, Statement } from "bun:sqlite";
import type { KeptRates } from "../../../base/money/rates.ts";

/** Keeps each set of rates once; inside the batch's transaction. */
export class RatesWriter {
  readonly #insert: Statement;
  /** Those that are in the database for certain, or will be if this transaction is committed. */
  readonly #known = new Set<number>();

  constructor(database: Database) {
    this.#insert = database.query("INSERT INTO rates (id, rates) VALUES (?, ?) ON CONFLICT DO NOTHING");
  }

  idOf(rates: KeptRates | null): number | null {
    if (rates === null) return null;
    if (!this.#known.has(rates.id)) {
      this.#insert.run(rates.id, rates.text);
      this.#known.add(rates.id);
    }
    return rates.id;
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#known.clear();
  }
}
