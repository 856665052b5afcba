import type { StoredRates } from "../../../base/money/rates.ts";
import type { Query } from "../client.ts";

/** Writes each set of rates before the first batch that refers to it: one statement per set and process. */
export class RatesKeeper {
  readonly #query: Query;
  /** Rates that are certainly in the database. */
  readonly #known = new Set<number>();

  constructor(query: Query) {
    this.#query = query;
  }

  async keep(all: readonly StoredRates[]): Promise<void> {
    for (const { id, text } of all) {
      if (this.#known.has(id)) continue;
      await this.#query("INSERT INTO rates (id, rates) VALUES ($1::int8, $2) ON CONFLICT DO NOTHING", [
        id,
        text,
      ]);
      this.#known.add(id);
    }
  }

  /** The database may have been replaced. */
  forget(): void {
    this.#known.clear();
  }
}
