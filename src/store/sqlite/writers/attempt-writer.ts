import type { Database, Statement } from "bun:sqlite";
import { type AttemptCount, AttemptTally, attemptTotalNames } from "../../attempt-sums.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../../reporting/attempt-columns.ts";
import { upsertTotals } from "../../reporting/total-columns.ts";

/** A SQLite database has one gateway. */
const node = 0;

/** Adds up the usage of attempts, so that one row is written for many of them. */
export class AttemptWriter {
  readonly #tally = new AttemptTally();
  readonly #upsert: Statement;
  readonly #upsertDay: Statement;

  constructor(database: Database) {
    this.#upsert = database.query(upsertTotals("attempt_sums", attemptKeyColumns, attemptTotalColumns));
    this.#upsertDay = database.query(upsertTotals("attempt_days", ["day", "node_no"], attemptTotalColumns));
  }

  add(day: number, attempt: AttemptCount): void {
    this.#tally.add(day, attempt);
  }

  /** Inside the caller's transaction; `clear` follows once that has ended. */
  write(): void {
    for (const sums of this.#tally.all()) {
      const { day, provider, credential, upstreamModel, outcome } = sums;
      const totals = attemptTotalNames.map((name) => sums[name]);
      this.#upsert.run(provider, day, credential, upstreamModel, outcome, node, ...totals);
      this.#upsertDay.run(day, node, ...totals);
    }
  }

  clear(): void {
    this.#tally.clear();
  }
}
