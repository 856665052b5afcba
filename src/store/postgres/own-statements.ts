import { assert } from "../../base/assert.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import { query } from "../query.ts";

export const postgresStatements: OwnStatements = {
  *nextNo() {
    const [taken] = yield* query<{ no: number }>(
      "SELECT nextval(pg_get_serial_sequence('keys', 'no'))::int AS no",
    );
    assert(taken !== undefined, "a sequence has a next number");
    return taken.no;
  },

  accountColumns: () => ({}),

  *insertCap({ column, no, accountNo }, { limit, period, models }, nowMs) {
    yield* query(insertCap(column), [no, limit, period, models, nowMs, accountNo]);
  },

  *entryByReference(accountNo, reference) {
    const [row] = yield* query<EntryRow>(
      `${selectEntries} JOIN entry_references r ON r.entry_id = entries.id AND r.month = entries.month
      WHERE r.account_no = $1::int AND r.reference = $2`,
      [accountNo, reference],
    );
    return row === undefined ? null : entryOf(row);
  },

  *insertEntry(kind, { amountNano, atMs, reference, note }, { accountNo, keyNo }, revision) {
    const values = [accountNo, keyNo, kind, amountNano, atMs, reference, note, revision];
    const [entry] = yield* query<{ id: number }>(insertEntry, values);
    assert(entry !== undefined, "a new entry has an id");
    return entry.id;
  },
};

/**
 * Counts what was taken, and is held, in its running period before. A key may have been counted later by an account that it
 * drew on before. A charge's own time is not long before it counts.
 */
function insertCap(column: NumberedOwner["column"]): string {
  const ofOwner =
    column === "key_no"
      ? "key_no = $1::int"
      : "(account_no = $1::int AND (key_no = $1::int OR account_no IS DISTINCT FROM key_no))";
  return `
WITH period AS (
  SELECT sluice_period_start($3, greatest($5::int8, counted_at_ms,
    (SELECT max(counted_at_ms) FROM holds WHERE holds.${column} = $1::int),
    (SELECT max(counted_at_ms) FROM entries WHERE entries.${column} = $1::int AND kind = 'charge' AND at_ms >= $5::int8 - 86400000))) AS start
  FROM accounts WHERE no = $6::int
)
INSERT INTO caps (${column}, amount, period, models, period_start_ms, used, held)
SELECT $1::int, $2::int8, $3, $4, period.start,
  coalesce((SELECT -sum(amount) FROM entries WHERE ${ofOwner} AND kind = 'charge'
    AND at_ms >= period.start - 86400000 AND coalesce(counted_at_ms, at_ms) >= period.start AND sluice_matches($4, model)), 0),
  coalesce((SELECT sum(amount) FROM holds WHERE holds.${column} = $1::int
    AND sluice_period_start($3, counted_at_ms) = period.start AND sluice_matches($4, model)), 0)
FROM period`;
}

const insertEntry = `
WITH entry AS (
  INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms, reference, note, revision)
  VALUES (sluice_month($5::int8), $1::int, $2::int, $3, $4::int8, $5::int8, $6, $7, $8::int8)
  RETURNING id, month, account_no, reference, amount
), account AS (
  UPDATE accounts SET posted = posted + amount, purchased = purchased + amount FROM entry WHERE no = account_no
), reference AS (
  INSERT INTO entry_references (account_no, reference, entry_id, month)
  SELECT account_no, reference, id, month FROM entry WHERE reference IS NOT NULL
)
SELECT id::float8 AS id FROM entry`;
