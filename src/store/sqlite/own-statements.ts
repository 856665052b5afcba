import { assert } from "../../base/assert.ts";
import { periodStart } from "../../base/money/period.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import { query, type Work } from "../query.ts";
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
  accountColumns({ mode, isOpen }) {
    return { floor: ["int8", mode === "credit" && !isOpen ? 0 : Number.MIN_SAFE_INTEGER] };
  },

  *insertCap(owner, { limit, period, models }, nowMs) {
    const [account] = yield* query<{ countedAtMs: number }>(
      "SELECT counted_at_ms AS countedAtMs FROM accounts WHERE no = $1",
      [owner.accountNo],
    );
    const sinceMs = periodStart(period, Math.max(nowMs, account?.countedAtMs ?? 0));
    // A key may have a later count from an account that it was billed to before.
    const { latestMs } = yield* takenSince(owner, null, sinceMs);
    const startMs = periodStart(period, Math.max(sinceMs, latestMs));
    const { sum } = yield* takenSince(owner, models, startMs);
    yield* query(
      `INSERT INTO caps (${owner.column}, amount, period, models, period_start_ms, used) VALUES ($1, $2, $3, $4, $5, $6)`,
      [owner.no, limit, period, models, startMs, sum],
    );
  },

  /** Holds are in the gateway's memory. */
  *recountHolds() {},

  selectNow: "SELECT $1 AS now",

  /** The roll-up adds the others. */
  isInKeyTotals: "id <= (SELECT totals_through FROM rollups)",

  *entryByReference(accountNo, reference) {
    const where = "WHERE coalesce(entries.account_no, entries.key_no) = $1 AND entries.reference = $2";
    const [row] = yield* query<EntryRow>(`${selectEntries} ${where}`, [accountNo, reference]);
    return row === undefined ? null : entryOf(row);
  },

  *insertEntry(kind, { amountNano, atMs, reference, note }, { accountNo, keyNo }, revision) {
    const [entry] = yield* query<{ id: number }>(
      `INSERT INTO entries (key_no, account_no, kind, amount, at_ms, reference, note, revision)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
      [keyNo, otherAccount(keyNo, accountNo), kind, amountNano, atMs, reference, note, revision],
    );
    assert(entry !== undefined, "a new entry has an id");
    const credit = "UPDATE accounts SET posted = posted + $1, purchased = purchased + $1 WHERE no = $2";
    yield* query(credit, [amountNano, accountNo]);
    return entry.id;
  },
};

interface TakenAmount {
  readonly sum: number;
  readonly latestMs: number;
}

/** What was charged since then, before this cap existed, and the latest time it counts at. */
function* takenSince(
  { column, no }: NumberedOwner,
  models: string | null,
  sinceMs: number,
): Work<TakenAmount> {
  const [ofOwner, counted] =
    column === "key_no"
      ? ["key_no = $1", "counted_by_key"]
      : ["(other_account_no = $1 OR (key_no = $1 AND other_account_no IS NULL))", "counted_by_account"];
  const [taken] = yield* query<TakenAmount>(
    `SELECT coalesce(sum(amount), 0) AS sum, coalesce(max(${counted}), 0) AS latestMs FROM counted_charges
    WHERE ${ofOwner} AND ${counted} >= $2 AND model GLOB $3`,
    [no, sinceMs, models ?? "*"],
  );
  return taken ?? { sum: 0, latestMs: 0 };
}
