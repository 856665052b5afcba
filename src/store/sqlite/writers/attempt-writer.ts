import type { Database, Statement } from "bun:sqlite";
import { type AttemptCount, AttemptTally, attemptFigureNames } from "../../attempt-sums.ts";
import { attemptFigureColumns, attemptKeyColumns } from "../../reporting/attempt-columns.ts";
import { upsertFigures } from "../../reporting/figure-columns.ts";

/** The one gateway of this database. */
const node = 0;

/** Adds up what a batch's attempts have used, and writes it once per batch. */
export class AttemptWriter {
  readonly #tally = new AttemptTally();
  readonly #upsert: Statement;

  constructor(database: Database) {
    this.#upsert = database.query(upsertFigures("attempt_sums", attemptKeyColumns, attemptFigureColumns));
  }

  add(day: number, attempt: AttemptCount): void {
    this.#tally.add(day, attempt);
  }

  /** Inside the batch's transaction. */
  write(): void {
    for (const sums of this.#tally.take()) {
      const { day, provider, credential, upstreamModel, ending } = sums;
      const figures = attemptFigureNames.map((name) => sums[name]);
      this.#upsert.run(provider, day, credential, upstreamModel, ending, node, ...figures);
    }
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#tally.take();
  }
}
