import type { Database, Statement } from "bun:sqlite";
import type { KeptRates } from "../../../base/money/rates.ts";

/** Writes each set of rates once, inside the batch's transaction. */
export class RatesWriter {
  readonly #insert: Statement;
  /** Rates that are in the database, or will be if this transaction commits. */
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

  /** Call it after a rollback. */
  forget(): void {
    this.#known.clear();
  }
}
