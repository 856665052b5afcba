import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { msPerMinute } from "../../../base/clock.ts";
import type { AttemptCount } from "../../attempt-sums.ts";
import { addGroups, addToSums, groupColumns, groupRows } from "../../reporting/add-to-sums.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../../reporting/attempt-columns.ts";
import { oldestKeptMinute } from "../../reporting/kept-minutes.ts";
import { sqliteText } from "../queries.ts";
import { AttemptWriter } from "./attempt-writer.ts";
import { TotalsWriter } from "./totals-writer.ts";
import { UncountedEntries } from "./uncounted-entries.ts";

/** What the tables of totals include. */
interface Counted {
  /** The newest entry in the totals of usage. */
  readonly entries: number;
  /** The newest entry in the totals of keys and attempts. */
  readonly totals: number;
  /** 1 if requests that were not charged, or attempts that failed, are not counted yet. */
  readonly hasEndings: number;
}

/**
 * Adds uncounted rows to the totals every second or so, because a row per request and hour would double the cost of a
 * settle. The views `uncounted_usage`, `key_totals` and `uncounted_attempts` define what each total counts. Reports
 * add the same rows meanwhile, so they are right at any moment, and a crash loses nothing.
 *
 * Entries that this process wrote since the last roll-up are added up in memory. The rows are read instead after a start,
 * a failed transaction, or a roll-up by another process.
 */
export class UsageRollup {
  readonly uncounted = new UncountedEntries();
  readonly #totals: TotalsWriter;
  readonly #attempts: AttemptWriter;
  readonly #selectCounted: Statement<Counted, []>;
  readonly #addEndings: readonly Statement[];
  readonly #addRows: readonly Statement[];
  readonly #mark: Statement<{ entries: number }, []>;
  readonly #selectOldestKept: Statement<{ minute: number | null }, []>;
  readonly #forgetMinutes: Statement;
  readonly #forgetLatencies: Statement;
  #lastMinute = 0;

  constructor(database: Database) {
    for (const table of temporaryTables) database.run(table);
    const prepare = (text: string) => database.query(sqliteText(text));
    this.#totals = new TotalsWriter(database);
    this.#attempts = new AttemptWriter(database);
    this.#selectCounted = database.query(selectCounted);
    this.#addEndings = addEndings.map(prepare);
    this.#addRows = addRows.map(prepare);
    this.#mark = database.query(mark);
    this.#selectOldestKept = database.query(oldestKeptMinute("unixepoch() / 60"));
    this.#forgetMinutes = database.query("DELETE FROM usage_minutes WHERE minute < ?");
    this.#forgetLatencies = database.query("DELETE FROM latency_minutes WHERE minute < ?");
  }

  /** An attempt that is stored in the row of its charge. */
  addAttempt(day: number, attempt: AttemptCount): void {
    this.#attempts.add(day, attempt);
  }

  /** Inside the caller's transaction; if that fails, call `forget`. */
  write(): void {
    const { entries, totals, hasEndings } = onlyRow(this.#selectCounted.get());
    if (entries === totals && this.uncounted.isComplete(entries)) {
      this.#totals.add(this.uncounted);
      this.#attempts.write();
      if (hasEndings === 1) for (const statement of this.#addEndings) statement.run();
    } else {
      for (const statement of this.#addRows) statement.run();
    }
    this.uncounted.restart(onlyRow(this.#mark.get()).entries);
    this.#attempts.clear();
    this.#forgetOldMinutes();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.uncounted.forget();
    this.#attempts.clear();
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

function onlyRow<Row>(row: Row | null): Row {
  assert(row !== null, "`rollups` must have a row");
  return row;
}

const attemptKeys = Object.fromEntries(attemptKeyColumns.map((column) => [column, column]));
const attemptKeyNames = attemptKeyColumns.join(", ");

/** The rows being counted, read once for all totals. */
const temporaryTables = [
  `CREATE TEMP TABLE IF NOT EXISTS counted (${groupColumns.join(", ")})`,
  `CREATE TEMP TABLE IF NOT EXISTS counted_attempts (${[...attemptKeyColumns, ...attemptTotalColumns].join(", ")})`,
];

const selectCounted = `
SELECT entries_through AS entries, totals_through AS totals,
  EXISTS (SELECT 1 FROM exchange_endings WHERE id > endings_through) AS hasEndings FROM rollups`;

const uncountedEndings = ["ending_figures", "attempt_figures"].map(
  (view) => `SELECT * FROM ${view} WHERE id > (SELECT endings_through FROM rollups)`,
);

/** The rows of `source`, added to the totals of usage. */
function addUsage(source: string): readonly string[] {
  return [
    `INSERT INTO counted ${groupRows(source, `at_ms / ${msPerMinute}`)}`,
    ...addGroups,
    "DELETE FROM counted",
  ];
}

const addEndings = addUsage(`(${uncountedEndings.join(" UNION ALL ")})`);

/** Adds all rows that are not counted yet. */
const addRows = [
  ...addUsage("uncounted_usage"),
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
];

const mark = `
UPDATE rollups SET entries_through = max(entries_through, coalesce((SELECT max(id) FROM entries), 0)),
  totals_through = max(totals_through, coalesce((SELECT max(id) FROM entries), 0)),
  endings_through = max(endings_through, coalesce((SELECT max(id) FROM exchange_endings), 0))
RETURNING entries_through AS entries`;
