import { assert } from "../../base/assert.ts";
import { msPerDay } from "../../base/clock.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import type { OwnedHold } from "../provider-batch-records.ts";
import { query, type Work } from "../query.ts";
import { StoreError } from "../store.ts";
import { countsModel, heldFallback } from "../tables/cap-table.ts";
import type { StoreCreation } from "../tables/file-table.ts";
import { countsRow, heldValue } from "../tables/value-cap-table.ts";
import { responseRow } from "../written-rows.ts";

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

  /** A batch locks a row of this table first, and waits for the lock of all of it. */
  *lockMoney() {
    yield* query("LOCK TABLE accounts IN EXCLUSIVE MODE");
  },

  *heldValues(capNo, period, startMs) {
    return yield* query<{ value: string; amount: number }>(
      `SELECT ${heldValue} AS value, sum(holds.amount)::float8 AS amount FROM value_caps c, holds
      WHERE c.no = $1::int AND sluice_period_start($2, holds.counted_at_ms) = $3::int8 AND ${countsRow("holds", "holds.account_no", heldFallback)}
      GROUP BY 1`,
      [capNo, period, startMs],
    );
  },
  isUnheld: "AND held = 0",

  *insertCapValue({ no, value, startMs, used, later, held }) {
    yield* query(
      `INSERT INTO cap_values (cap_no, value, period_start_ms, used, later_used, held)
      VALUES ($1::int, $2, $3::int8, $4::int8, $5, $6::int8)`,
      [no, value, startMs, used, later, held],
    );
  },

  *recountHolds(accounts, keys) {
    yield* query(recountAccounts, [accounts]);
    yield* query(recountCaps, [accounts, keys]);
  },

  selectNow: "SELECT sluice_now($1::int8)::float8 AS now",

  /** The totals are in this database, and go on from what they include. */
  mayPrune: "id <= (SELECT endings_through FROM rollups)",
  *pruned() {},

  *entryByReference(accountNo, reference) {
    const [row] = yield* query<EntryRow>(
      `${selectEntries} JOIN entry_references r ON r.entry_id = entries.id AND r.month = entries.month
      WHERE r.account_no = $1::int AND r.reference = $2`,
      [accountNo, reference],
    );
    return row === undefined ? null : entryOf(row);
  },

  /** The lock shows readers that this id is still being written (see settled-ids.ts). */
  *nextEntryId() {
    yield* query("LOCK TABLE ONLY entries IN ROW EXCLUSIVE MODE");
    const [next] = yield* query<{ id: number }>("SELECT nextval('entries_id_seq')::float8 AS id");
    assert(next !== undefined, "a sequence has a next number");
    return next.id;
  },

  *insertEntry({ id, hash, kind, amount, atMs, reference, note }, { accountNo, keyNo }, revision) {
    yield* query(insertEntry, [
      ...[accountNo, keyNo, kind, amount, atMs, reference, note, revision],
      ...[id, hash],
    ]);
  },
};

/** Bounds how many charges a new cap reads. */
const longestSetBackMs = 40 * msPerDay;

/**
 * A new cap counts what its current period has used and reserved before, and what later ones have used that a clock had
 * reached. A charge's own time is before the one that it counts at only by what the database's clock was set back.
 */
function insertCap(column: NumberedOwner["column"]): string {
  const ofOwner =
    column === "key_no"
      ? "c.key_no = $1::int"
      : "(c.account_no = $1::int AND (c.key_no = $1::int OR c.account_no IS DISTINCT FROM c.key_no))";
  return `
WITH period AS (
  SELECT sluice_period_start($3, greatest($5::int8, accounts.counted_at_ms,
    (SELECT max(holds.counted_at_ms) FROM holds WHERE holds.${column} = $1::int))) AS start
  FROM accounts WHERE accounts.no = $6::int
), taken AS (
  SELECT sluice_period_start($3, c.counted_at_ms) AS at, sum(c.amount) AS used FROM counted_charges c, period
  WHERE ${ofOwner} AND c.at_ms >= period.start - ${longestSetBackMs} AND c.counted_at_ms >= period.start AND ${countsModel("$4", "c")}
  GROUP BY 1
)
INSERT INTO caps (${column}, amount, period, models, period_start_ms, used, later_used, held)
SELECT $1::int, $2::int8, $3, $4, period.start, coalesce((SELECT sum(taken.used) FROM taken), 0),
  (SELECT json_agg(json_build_object('at', taken.at, 'used', taken.used, 'in', period.start))::text FROM taken WHERE taken.at > period.start),
  coalesce((SELECT sum(holds.amount) FROM holds WHERE holds.${column} = $1::int
    AND sluice_period_start($3, holds.counted_at_ms) = period.start AND ${countsModel("$4", "holds", heldFallback)}), 0)
FROM period`;
}

const recountAccounts = `
UPDATE accounts SET held = (SELECT coalesce(sum(h.amount), 0) FROM holds h WHERE h.account_no = accounts.no
  AND (accounts.mode = 'credit' OR h.period_start_ms = accounts.period_start_ms))
WHERE no = ANY ($1::int8[])`;

const recountCaps = `
UPDATE caps SET held = (SELECT coalesce(sum(holds.amount), 0) FROM holds WHERE (holds.account_no = caps.account_no OR holds.key_no = caps.key_no)
  AND sluice_period_start(caps.period, holds.counted_at_ms) = caps.period_start_ms AND ${countsModel("caps.models", "holds", heldFallback)})
WHERE caps.account_no = ANY ($1::int8[]) OR caps.key_no = ANY ($2::int8[])`;

const insertEntry = `
WITH entry AS (
  INSERT INTO entries (month, account_no, key_no, kind, amount, at_ms, reference, note, revision, id, hash)
  VALUES (sluice_month($5::int8), $1::int, $2::int, $3, $4::int8, $5::int8, $6, $7, $8::int8, $9::int8, $10)
  RETURNING id, month, account_no, reference, amount
), account AS (
  UPDATE accounts SET posted = accounts.posted + entry.amount, purchased = accounts.purchased + entry.amount FROM entry
  WHERE accounts.no = entry.account_no
), reference AS (
  INSERT INTO entry_references (account_no, reference, entry_id, month)
  SELECT account_no, reference, id, month FROM entry WHERE reference IS NOT NULL
)
SELECT id::float8 AS id FROM entry`;

/** A takeover of the node comes before or after: its row is locked. */
export function* parkHolds(holds: readonly OwnedHold[], node: number): Work<boolean> {
  const alive = yield* query("SELECT no FROM nodes WHERE no = $1::int8 AND dead_at IS NULL FOR SHARE", [
    node,
  ]);
  const ids = holds.map(({ holdId }) => holdId);
  const found = yield* query(
    "SELECT id FROM holds WHERE id = ANY ($1::text[]) AND node_no = $2::int8 ORDER BY id FOR UPDATE",
    [ids, node],
  );
  if (alive.length === 0 || found.length < ids.length) return false;
  yield* query(
    "UPDATE holds SET node_no = 0, is_in_flight = false, is_parked = 1 WHERE id = ANY ($1::text[])",
    [ids],
  );
  return true;
}

/** The claim is a row without a response. */
export const storeCreation: StoreCreation = function* ({ response, exchangeId }) {
  const { route, idempotency_key: name, ...row } = responseRow(response);
  const stored = yield* query(
    `UPDATE responses SET node_no = NULL, status = $5::int, headers = $6::text, stored_at_ms = $7::int8, body = $8, bytes = $9::int8
    WHERE key_no = (SELECT no FROM keys WHERE id = $1::text) AND route = $2::text AND idempotency_key = $3::text
      AND exchange_id = $4::text AND stored_at_ms IS NULL RETURNING 1`,
    [
      ...[response.keyId, route, name, exchangeId, row.status, row.headers, row.stored_at_ms],
      ...[response.body, row.bytes],
    ],
  );
  if (stored.length > 0) return;
  // Its gateway was taken for dead.
  throw new StoreError("unreachable", "Another gateway runs this request now.");
};
