import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { msPerMinute } from "../../../base/clock.ts";
import type { AttemptCount } from "../../attempt-sums.ts";
import { addGroups, addToSums, groupColumns, groupRows } from "../../reporting/add-to-sums.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../../reporting/attempt-columns.ts";
import { oldestKeptMinute } from "../../reporting/kept-minutes.ts";
import { totalNames } from "../../usage-totals.ts";
import { sqliteText } from "../queries.ts";
import { AttemptWriter } from "./attempt-writer.ts";
import { UncountedEntries } from "./uncounted-entries.ts";

/** The newest entry that is included in the totals of usage, and in the totals of keys and attempts. */
interface CountedThrough {
  readonly entries: number;
  readonly totals: number;
}

/**
 * Adds uncounted rows to the totals every second or so, because a row per request and hour would double the cost of a
 * settle. The views `uncounted_usage`, `key_totals` and `uncounted_attempts` define what each total counts. Reports
 * add the same rows meanwhile, so they are right at any moment, and a crash loses nothing.
 *
 * The entries that this process wrote since the last roll-up are added up in memory. After a failed transaction, and whatever
 * another process wrote or counted, the rows are read instead.
 */
export class UsageRollup {
  readonly uncounted = new UncountedEntries();
  readonly #attempts: AttemptWriter;
  readonly #selectCounted: Statement<CountedThrough, []>;
  readonly #insertGroup: Statement;
  readonly #addWritten: readonly Statement[];
  readonly #addRows: readonly Statement[];
  readonly #mark: Statement<CountedThrough, []>;
  readonly #selectOldestKept: Statement<{ minute: number | null }, []>;
  readonly #forgetMinutes: Statement;
  readonly #forgetLatencies: Statement;
  #lastMinute = 0;

  constructor(database: Database) {
    for (const table of temporaryTables) database.run(table);
    const prepare = (text: string) => database.query(sqliteText(text));
    this.#attempts = new AttemptWriter(database);
    this.#selectCounted = database.query(selectCounted);
    this.#insertGroup = database.query(insertGroup);
    this.#addWritten = addWritten.map(prepare);
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
    const counted = this.#selectCounted.get();
    assert(counted !== null, "the row of `rollups` must exist");
    if (counted.entries === counted.totals && this.uncounted.isComplete(counted.entries)) this.#writeSums();
    else for (const statement of this.#addRows) statement.run();
    const marked = this.#mark.get();
    assert(marked !== null, "the row of `rollups` must exist");
    this.uncounted.restart(marked.entries);
    this.#attempts.clear();
    this.#forgetOldMinutes();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.uncounted.forget();
    this.#attempts.clear();
  }

  #writeSums(): void {
    for (const group of this.uncounted.groups) {
      const { minute, keyNo, model, provider, firstByteBand, totalBand, totals } = group;
      const values = totalNames.map((name) => totals[name]);
      this.#insertGroup.run(minute, keyNo, model, provider, firstByteBand, totalBand, ...values);
    }
    for (const statement of this.#addWritten) statement.run();
    this.#attempts.write();
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

const selectCounted = "SELECT entries_through AS entries, totals_through AS totals FROM rollups";

const insertGroup = `INSERT INTO counted VALUES (${groupColumns.map(() => "?").join(", ")})`;

const minute = `at_ms / ${msPerMinute}`;

/** Adds the entries in the table `counted`, and the rows of requests that were not charged. */
const addWritten = [
  // As the view `key_totals` adds the same entries.
  `UPDATE key_sums SET day = max(key_sums.day, new.day),
    day_spend = iif(new.day > key_sums.day, 0, key_sums.day_spend) + iif(new.day >= key_sums.day, new.day_spend, 0),
    spent = key_sums.spent + new.spent, requests = key_sums.requests + new.requests,
    input_tokens = key_sums.input_tokens + new.input_tokens, output_tokens = key_sums.output_tokens + new.output_tokens,
    last_cost_nano = coalesce((
      SELECT cost_nano FROM entries WHERE entries.key_no = key_sums.key_no AND entries.id > (SELECT totals_through FROM rollups)
        AND cost_nano IS NOT NULL ORDER BY entries.id DESC LIMIT 1
    ), key_sums.last_cost_nano)
  FROM (
    SELECT key_no, max(day) AS day, spent AS day_spend, sum(spent) AS spent, sum(requests) AS requests,
      sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens
    FROM (
      SELECT key_no, minute / 1440 AS day, sum(spend_nano + spend_tokens) AS spent, sum(requests) AS requests,
        sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens FROM counted GROUP BY 1, 2
    ) GROUP BY key_no
  ) AS new WHERE new.key_no = key_sums.key_no`,
  ...["ending_figures", "attempt_figures"].map(
    (view) =>
      `INSERT INTO counted ${groupRows(`(SELECT * FROM ${view} WHERE id > (SELECT endings_through FROM rollups))`, minute)}`,
  ),
  ...addGroups,
  "DELETE FROM counted",
];

/** Adds all rows that are not counted yet. */
const addRows = [
  `INSERT INTO counted ${groupRows("uncounted_usage", minute)}`,
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
];

const mark = `
UPDATE rollups SET entries_through = max(entries_through, coalesce((SELECT max(id) FROM entries), 0)),
  totals_through = max(totals_through, coalesce((SELECT max(id) FROM entries), 0)),
  endings_through = max(endings_through, coalesce((SELECT max(id) FROM exchange_endings), 0))
RETURNING entries_through AS entries, totals_through AS totals`;
