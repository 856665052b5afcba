import type { Database, Statement } from "bun:sqlite";
import { type AttemptCount, AttemptTally, attemptTotalNames } from "../../attempt-sums.ts";
import type { JournalItem } from "../../records.ts";
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

/**
 * The attempt of a charge whose row already contains all of it except the credential and what is owed. Null if there were other
 * attempts, or it used something else. Such an attempt needs no row in `attempt_sums`: with one, a
 * request by itself writes two more pages and takes 15% more CPU.
 */
export function rowAttempt({
  charge,
  record,
  attempts = [],
}: JournalItem & { kind: "settle" }): AttemptCount | null {
  const attempt = attempts[0];
  if (attempt === undefined || attempts.length > 1 || record === null) return null;
  const { usage, provider, upstreamModel } = record;
  const isSameDeployment = attempt.provider === provider && attempt.upstreamModel === upstreamModel;
  const isAsReported =
    attempt.inputTokens === usage.inputTokens &&
    attempt.cachedInputTokens === usage.cachedInputTokens &&
    attempt.cacheWriteTokens === usage.cacheWriteTokens &&
    attempt.outputTokens === usage.outputTokens &&
    attempt.countedInputTokens + attempt.countedOutputTokens + attempt.estimated === 0;
  return isSameDeployment && isAsReported && attempt.outcome === charge.outcome ? attempt : null;
}
