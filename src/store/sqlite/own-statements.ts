import { assert } from "../../base/assert.ts";
import { periodStart } from "../../base/money/period.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import type { OwnedHold } from "../provider-batch-records.ts";
import { query, type Work } from "../query.ts";
import { countsModel } from "../tables/cap-table.ts";
import type { StoreCreation } from "../tables/file-table.ts";
import { responseRow } from "../written-rows.ts";
import { otherAccount } from "./writers/entry-writer.ts";

export const sqliteStatements: OwnStatements = {
  *nextNo() {
    const [taken] = yield* query<{ no: number }>(
      `UPDATE sqlite_sequence SET seq = 1 + max(seq, (SELECT coalesce(max(no), 0) FROM accounts)) WHERE name = 'keys'
      RETURNING seq AS no`,
    );
    assert(taken !== undefined, "the sequence of keys has a row");
    return taken.no;
  },

  /** The minimum of `posted`. */
  accountColumns({ mode, isPostpaid }) {
    return { floor: ["int8", mode === "credit" && !isPostpaid ? 0 : Number.MIN_SAFE_INTEGER] };
  },

  *insertCap(owner, { limit, period, models }, nowMs) {
    const [account] = yield* query<{ countedAtMs: number }>(
      "SELECT counted_at_ms AS countedAtMs FROM accounts WHERE no = $1",
      [owner.accountNo],
    );
    const startMs = periodStart(period, Math.max(nowMs, account?.countedAtMs ?? 0));
    yield* query(insertCap(owner.column), [owner.no, limit, period, models, startMs]);
  },

  /** A transaction that writes is the only one. */
  *lockMoney() {},

  /** Holds are in the gateway's memory. */
  *heldValues() {
    return yield* query<{ value: string; amount: number }>("SELECT '' AS value, 0 AS amount WHERE false");
  },
  isUnheld: "",
  *recountHolds() {},

  *insertCapValue({ no, value, startMs, used, later }) {
    yield* query(
      "INSERT INTO cap_values (cap_no, value, period_start_ms, used, later_used) VALUES ($1, $2, $3, $4, $5)",
      [no, value, startMs, used, later],
    );
  },

  selectNow: "SELECT $1 AS now",

  mayPrune: "true",

  /** Marks totals that do not include this row yet to be recomputed. */
  *pruned(throughId) {
    yield* query("UPDATE state SET endings_pruned_through = max(endings_pruned_through, $1)", [throughId]);
  },

  *entryByReference(accountNo, reference) {
    const where = "WHERE coalesce(entries.account_no, entries.key_no) = $1 AND entries.reference = $2";
    const [row] = yield* query<EntryRow>(`${selectEntries} ${where}`, [accountNo, reference]);
    return row === undefined ? null : entryOf(row);
  },

  *nextEntryId() {
    const [next] = yield* query<{ id: number }>("SELECT coalesce(max(id), 0) + 1 AS id FROM entries");
    assert(next !== undefined, "a maximum is one row");
    return next.id;
  },

  *insertEntry({ id, hash, kind, amount, atMs, reference, note }, { accountNo, keyNo }, revision) {
    yield* query(
      `INSERT INTO entries (id, hash, key_no, account_no, kind, amount, at_ms, reference, note, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
      [id, hash, keyNo, otherAccount(keyNo, accountNo), kind, amount, atMs, reference, note, revision],
    );
    const credit = "UPDATE accounts SET posted = posted + $1, purchased = purchased + $1 WHERE no = $2";
    yield* query(credit, [amount, accountNo]);
  },
};

/** A new cap counts what was charged in its period before it existed, and in later ones that a clock had reached. */
function insertCap(column: NumberedOwner["column"]): string {
  const ofOwner =
    column === "key_no"
      ? "key_no = $1"
      : "(other_account_no = $1 OR (key_no = $1 AND other_account_no IS NULL))";
  return `
WITH taken AS (
  SELECT sluice_period_start($3, counted_at_ms) AS at, sum(amount) AS used FROM counted_charges
  WHERE ${ofOwner} AND counted_at_ms >= $5 AND ${countsModel("$4", "counted_charges")} GROUP BY 1
)
INSERT INTO caps (${column}, amount, period, models, period_start_ms, used, later_used)
SELECT $1, $2, $3, $4, $5, coalesce(sum(used), 0), json_group_array(json_object('at', at, 'used', used, 'in', $5)) FILTER (WHERE at > $5) FROM taken`;
}

/** They were in memory only. */
export function* parkHolds(holds: readonly OwnedHold[]): Work<boolean> {
  for (const hold of holds) {
    const { holdId, keyId, accountId, openedAtMs, periodStartMs, countedAtMs, model, requestedModel } = hold;
    yield* query(insertHold, [
      ...[holdId, keyId, accountId, openedAtMs, periodStartMs, countedAtMs, model, requestedModel],
      ...[hold.labels, hold.amount],
    ]);
  }
  return true;
}

const insertHold = `
INSERT INTO holds (id, key_no, account_no, opened_at_ms, period_start_ms, counted_at_ms, charge_so_far, model, asked_model, labels, is_parked, amount)
SELECT $1, keys.no, nullif(accounts.no, keys.no), $4, $5, $6, 0, $7, $8, $9, 1, $10 FROM keys, accounts WHERE keys.id = $2 AND accounts.id = $3`;

/** One process holds all claims. An older response that was not deleted yet has expired. */
export const storeCreation: StoreCreation = function* ({ response }) {
  const { route, idempotency_key: name, ...row } = responseRow(response);
  yield* query(
    `DELETE FROM responses WHERE key_no = (SELECT no FROM keys WHERE id = $1) AND route = $2 AND idempotency_key = $3`,
    [response.keyId, route, name],
  );
  yield* query(
    `INSERT INTO responses (key_no, route, idempotency_key, body_hash, status, headers, stored_at_ms, parts, body, bytes)
    SELECT no, $2, $3, $4, $5, $6, $7, 0, $8, $9 FROM keys WHERE id = $1`,
    [
      ...[response.keyId, route, name, row.body_hash, row.status, row.headers, row.stored_at_ms],
      ...[response.body, row.bytes],
    ],
  );
};
