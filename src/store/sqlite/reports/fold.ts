import type { Database, Statement } from "bun:sqlite";
import { addGroups, groupColumns, groupRows, prunedGroups } from "../../reporting/add-to-sums.ts";
import { sqliteText } from "../queries.ts";

/** Bounds how long others wait for the lock, and how long the log gets. */
const rowsPerStep = 50_000;

/**
 * Adds the ledger's new rows to the totals in reports.db. The views `entry_figures`, `ending_figures` and `attempt_figures`
 * define what each total counts. Begins with nothing if the totals do not belong to this ledger, or if retention has
 * deleted rows that they do not include.
 */
export class Fold {
  readonly #isStale: Statement<{ isStale: number }, []>;
  readonly #hasNew: Statement<{ hasNew: number }, []>;
  readonly #restart: readonly Statement[];
  readonly #add: readonly Statement[];
  readonly #step: { immediate(): void };

  constructor(database: Database) {
    for (const definition of temporary) database.run(definition);
    const prepare = (text: string) => database.query(sqliteText(text));
    this.#isStale = database.query(isStale);
    this.#hasNew = database.query(hasNew);
    this.#restart = restart.map(prepare);
    this.#add = addRows.map(prepare);
    this.#step = database.transaction(() => {
      if (this.isStale()) for (const statement of this.#restart) statement.run();
      for (const statement of this.#add) statement.run();
    });
  }

  /** Whether the totals cannot be continued. */
  isStale(): boolean {
    return this.#isStale.get()?.isStale === 1;
  }

  /** Adds some rows, in one transaction. False if there were none. */
  step(): boolean {
    if (!this.isStale() && this.#hasNew.get()?.hasNew !== 1) return false;
    this.#step.immediate();
    return true;
  }
}

/** Identifies an entry. */
const markOf = (id: string) =>
  `coalesce((SELECT id || ' ' || at_ms || ' ' || key_no || ' ' || amount || ' ' || coalesce(exchange_id, '') FROM ledger.entries WHERE id = ${id}), '')`;

const lastEntry = "coalesce((SELECT max(id) FROM ledger.entries), 0)";
/** Also counts rows that were deleted since. */
const lastEnding = "coalesce((SELECT seq FROM ledger.sqlite_sequence WHERE name = 'exchange_endings'), 0)";

const isStale = `
SELECT NOT EXISTS (
  SELECT 1 FROM rollups WHERE last_entry = ${markOf("entries_through")} AND endings_through <= ${lastEnding}
    AND endings_through >= (SELECT endings_pruned_through FROM ledger.state)
) AS isStale`;

const hasNew = `
SELECT entries_through < ${lastEntry} OR endings_through < ${lastEnding} AS hasNew FROM rollups`;

const temporary = [
  `CREATE TEMP TABLE counted (${groupColumns.join(", ")})`,
  `CREATE TEMP VIEW uncounted_usage AS
  SELECT * FROM ledger.entry_figures WHERE id > (SELECT entries_through FROM main.rollups)
  UNION ALL SELECT * FROM ledger.ending_figures WHERE id > (SELECT endings_through FROM main.rollups)
  UNION ALL SELECT * FROM ledger.attempt_figures WHERE id > (SELECT endings_through FROM main.rollups)`,
];

const addCounted = [...addGroups, "DELETE FROM temp.counted"];

const restart = [
  "DELETE FROM rollups",
  "DELETE FROM usage_hours",
  "DELETE FROM latency_hours",
  `INSERT INTO temp.counted ${prunedGroups}`,
  ...addCounted,
  `INSERT INTO rollups (id, entries_through, endings_through, last_entry) VALUES (1, 0, 0, '')`,
];

const entriesThrough = `min(${lastEntry}, entries_through + ${rowsPerStep})`;
// At once up to the newest row that was deleted: totals that include only a part would count as stale.
const endingsThrough = `min(${lastEnding}, max(endings_through + ${rowsPerStep}, (SELECT endings_pruned_through FROM ledger.state)))`;
const within = (view: string, column: string, through: string) =>
  `SELECT * FROM ledger.${view} WHERE id > (SELECT ${column} FROM rollups) AND id <= (SELECT ${through} FROM rollups)`;

const newRows = [
  within("entry_figures", "entries_through", entriesThrough),
  within("ending_figures", "endings_through", endingsThrough),
  within("attempt_figures", "endings_through", endingsThrough),
].join(" UNION ALL ");

const addRows = [
  `INSERT INTO temp.counted ${groupRows(`(${newRows})`)}`,
  ...addCounted,
  `UPDATE rollups SET entries_through = ${entriesThrough}, endings_through = ${endingsThrough}, last_entry = ${markOf(entriesThrough)}`,
];
