import type { KeptRates } from "../../../base/money/rates.ts";
import type { Query } from "../client.ts";

/** Writes each set of rates before the first batch that refers to it: one statement for every set and process. */
export class RatesKeeper {
  readonly #query: Query;
  /** Those that are in the database for certain. */
  readonly #known = new Set<number>();

  constructor(query: Query) {
    this.#query = query;
  }

  async keep(all: readonly KeptRates[]): Promise<void> {
    for (const { id, text } of all) {
      if (this.#known.has(id)) continue;
      await this.#query("INSERT INTO rates (id, rates) VALUES ($1::int8, $2) ON CONFLICT DO NOTHING", [
        id,
        text,
      ]);
      this.#known.add(id);
    }
  }

  /** The database may be another one from now on. */
  forget(): void {
    this.#known.clear();
  }
}
