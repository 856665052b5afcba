import type { Database, Statement } from "bun:sqlite";
import { msPerMinute } from "../../../base/clock.ts";
import { addGroups, addToSums, groupColumns, groupRows } from "../../reporting/add-to-sums.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../../reporting/attempt-columns.ts";
import { oldestKeptMinute } from "../../reporting/kept-minutes.ts";
import { sqliteText } from "../queries.ts";

/**
 * Adds uncounted rows to the totals every second or so, because a row per request and hour would double the cost of a
 * settle. The views `uncounted_usage`, `key_totals` and `uncounted_attempts` define what each total counts. Reports
 * add the same rows meanwhile, so they are right at any moment, and a crash loses nothing.
 */
export class UsageRollup {
  readonly #add: readonly Statement[];
  readonly #selectOldestKept: Statement<{ minute: number | null }, []>;
  readonly #forgetMinutes: Statement;
  readonly #forgetLatencies: Statement;
  #lastMinute = 0;

  constructor(database: Database) {
    for (const table of temporaryTables) database.run(table);
    this.#add = statements.map((text) => database.query(sqliteText(text)));
    this.#selectOldestKept = database.query(oldestKeptMinute("unixepoch() / 60"));
    this.#forgetMinutes = database.query("DELETE FROM usage_minutes WHERE minute < ?");
    this.#forgetLatencies = database.query("DELETE FROM latency_minutes WHERE minute < ?");
  }

  /** Inside the caller's transaction. */
  write(): void {
    for (const statement of this.#add) statement.run();
    this.#forgetOldMinutes();
  }

  #forgetOldMinutes(): void {
    const minute = Math.floor(Date.now() / msPerMinute);
    if (minute === this.#lastMinute) return;
    this.#lastMinute = minute;
    const oldest = this.#selectOldestKept.get()?.minute ?? 0;
    this.#forgetMinutes.run(oldest);
    this.#forgetLatencies.run(oldest);
  }
}

/** Counts what a crash left out of the totals. Inside the caller's transaction. */
export function catchUpRollup(database: Database): void {
  new UsageRollup(database).write();
}

const attemptKeys = Object.fromEntries(attemptKeyColumns.map((column) => [column, column]));
const attemptKeyNames = attemptKeyColumns.join(", ");

/** The rows being counted, read once for all totals. */
const temporaryTables = [
  `CREATE TEMP TABLE IF NOT EXISTS counted (${groupColumns.join(", ")})`,
  `CREATE TEMP TABLE IF NOT EXISTS counted_attempts (${[...attemptKeyColumns, ...attemptTotalColumns].join(", ")})`,
];

const statements = [
  `INSERT INTO counted ${groupRows("uncounted_usage", `at_ms / ${msPerMinute}`)}`,
  ...addGroups,
  "DELETE FROM counted",
  // In groups already: two totals add these rows, and sorting all of them twice took 3 µs a request.
  `INSERT INTO counted_attempts SELECT ${attemptKeyNames}, ${attemptTotalColumns.map((column) => `sum(${column})`).join(", ")}
    FROM uncounted_attempts GROUP BY ${attemptKeyNames}`,
  addToSums("attempt_sums", attemptKeys, "counted_attempts", attemptTotalColumns),
  addToSums("attempt_days", { day: "day", node_no: "node_no" }, "counted_attempts", attemptTotalColumns),
  "DELETE FROM counted_attempts",
  `UPDATE key_sums SET day = new.day, day_spend = new.day_spend, spent = new.spent, requests = new.requests,
    input_tokens = new.input_tokens, output_tokens = new.output_tokens, last_cost_nano = new.last_cost_nano
  FROM (
    SELECT * FROM key_totals WHERE key_no IN (
      SELECT key_no FROM entries WHERE id > (SELECT totals_through FROM rollups) AND kind IN ('charge', 'overrun') AND amount <= 0)
  ) AS new WHERE new.key_no = key_sums.key_no`,
  `UPDATE rollups SET entries_through = max(entries_through, coalesce((SELECT max(id) FROM entries), 0)),
    totals_through = max(totals_through, coalesce((SELECT max(id) FROM entries), 0)),
    endings_through = max(endings_through, coalesce((SELECT max(id) FROM exchange_endings), 0))`,
];
