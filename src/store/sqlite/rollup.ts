import type { Database } from "bun:sqlite";
import { msPerMinute } from "../../base/clock.ts";
import { attemptFigureColumns, attemptKeyColumns } from "../reporting/attempt-columns.ts";
import { additions, countedIn, forgetMinutes, upsertSums } from "../reporting/roll-up.ts";
import { sqliteText } from "./queries.ts";

const attemptKey = Object.fromEntries(attemptKeyColumns.map((column) => [column, column]));

/** `WHERE false` copies the columns, and no row. */
const statements = [
  `CREATE TEMP TABLE IF NOT EXISTS counted AS ${countedIn("uncounted_usage WHERE false")}`,
  "DELETE FROM counted",
  `INSERT INTO counted ${countedIn("uncounted_usage")}`,
  ...additions,
  `INSERT OR REPLACE INTO key_sums SELECT * FROM key_totals
  WHERE key_no IN (SELECT key_no FROM entries WHERE id > (SELECT totals_through FROM state))`,
  upsertSums("attempt_sums", attemptKey, "uncounted_attempts", attemptFigureColumns),
  `UPDATE state SET rolled_up_through = newest.entry, totals_through = newest.entry, endings_rolled_up_through = newest.ending
  FROM (SELECT coalesce((SELECT max(id) FROM entries), 0) AS entry,
    coalesce((SELECT max(id) FROM exchange_endings), 0) AS ending) AS newest`,
].map(sqliteText);

const forgetting = forgetMinutes("unixepoch() / 60").map(sqliteText);
/** The minute in which each database last forgot. To look for what is too old takes as long as adding 100 charges. */
const forgotAt = new WeakMap<Database, number>();

/**
 * Adds to the sums what they do not count yet: every second or so, because a batch that did it by itself would cost twice as much. What
 * the sums count is kept with them, and whoever reads them adds the rows that come after. So nothing is lost in a crash, and what each
 * figure counts is said by the views alone. Inside the caller's transaction.
 */
export function rollUp(database: Database): void {
  const minute = Math.floor(Date.now() / msPerMinute);
  const due = forgotAt.get(database) === minute ? statements : [...statements, ...forgetting];
  for (const statement of due) database.query(statement).run();
  forgotAt.set(database, minute);
}
