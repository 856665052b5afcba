import type { Database, Statement } from "bun:sqlite";
import { type AttemptCount, AttemptTally, attemptFigureNames } from "../../attempt-sums.ts";
import { attemptFigureColumns, attemptKeyColumns } from "../../reporting/attempt-columns.ts";
import { upsertFigures } from "../../reporting/figure-columns.ts";

/** A SQLite database has one gateway. */
const node = 0;

/** Adds up the usage of attempts, so that one row is written for many of them. */
export class AttemptWriter {
  readonly #tally = new AttemptTally();
  readonly #upsert: Statement;
  readonly #upsertDay: Statement;

  constructor(database: Database) {
    this.#upsert = database.query(upsertFigures("attempt_sums", attemptKeyColumns, attemptFigureColumns));
    this.#upsertDay = database.query(upsertFigures("attempt_days", ["day", "node_no"], attemptFigureColumns));
  }

  add(day: number, attempt: AttemptCount): void {
    this.#tally.add(day, attempt);
  }

  /** Inside the caller's transaction; `clear` follows once that has ended. */
  write(): void {
    for (const sums of this.#tally.all()) {
      const { day, provider, credential, upstreamModel, outcome } = sums;
      const figures = attemptFigureNames.map((name) => sums[name]);
      this.#upsert.run(provider, day, credential, upstreamModel, outcome, node, ...figures);
      this.#upsertDay.run(day, node, ...figures);
    }
  }

  clear(): void {
    this.#tally.clear();
  }
}
