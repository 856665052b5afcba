import type { Database } from "bun:sqlite";
import { periodStart } from "../../../base/period.ts";
import { changedCaps, unknownCap } from "../../account-row.ts";
import type { CapLimit, CapRecord, CapTotals } from "../../records.ts";

/** Whose caps they are, by its number. */
export interface NumberedOwner {
  readonly column: "key_no" | "account_no";
  readonly no: number;
  /** The latest moment that its account has counted at. */
  readonly countedAtMs: number;
}

interface CapRow extends CapRecord {
  readonly periodStartMs: number;
}

/** Reads and writes caps. What changes one runs inside the caller's transaction. */
export class CapTable {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  allTotals(): readonly CapTotals[] {
    return this.#database.query<CapTotals, []>(`${selectTotals} ORDER BY no`).all();
  }

  totals(capNos: readonly number[]): readonly CapTotals[] {
    const query = this.#database.query<CapTotals, [number]>(`${selectTotals} WHERE no = ?`);
    return capNos.flatMap((no) => query.all(no));
  }

  /** Those of an account and of all keys that draw on it. */
  totalsOfAccount(accountNo: number): readonly CapTotals[] {
    const where = "WHERE account_no = ?1 OR key_no IN (SELECT no FROM keys WHERE account_no = ?1)";
    return this.#database.query<CapTotals, [number]>(`${selectTotals} ${where}`).all(accountNo);
  }

  /** These take the place of all that the owner has. */
  set(owner: NumberedOwner, before: readonly CapRecord[], wanted: readonly CapLimit[], nowMs: number): void {
    const { removed, kept, added } = changedCaps(before, wanted);
    for (const { no } of removed) this.#database.query("DELETE FROM caps WHERE no = ?").run(no);
    for (const { no, limit } of kept) {
      this.#database.query("UPDATE caps SET amount = ? WHERE no = ?").run(limit, no);
    }
    for (const cap of added) this.#insert(owner, cap, nowMs);
  }

  extend({ column, no, countedAtMs }: NumberedOwner, capNo: number, amount: number, nowMs: number): void {
    const cap = this.#database
      .query<CapRow, [number, number]>(
        `SELECT period, period_start_ms AS periodStartMs FROM caps WHERE no = ? AND ${column} = ?`,
      )
      .get(capNo, no);
    if (cap === null) throw unknownCap();
    const startMs = Math.max(cap.periodStartMs, periodStart(cap.period, Math.max(nowMs, countedAtMs)));
    this.#database.query(extendCap).run(startMs, amount, capNo);
  }

  #insert({ column, no, countedAtMs }: NumberedOwner, cap: CapLimit, nowMs: number): void {
    const sinceMs = periodStart(cap.period, Math.max(nowMs, countedAtMs));
    // A key may have been counted later by an account that it drew on before.
    const startMs = periodStart(
      cap.period,
      Math.max(sinceMs, this.#taken(column, no, null, sinceMs).latestMs),
    );
    this.#database
      .query(
        `INSERT INTO caps (${column}, amount, period, models, period_start_ms, used) VALUES (?, ?, ?, ?, ?, ?)`,
      )
      .run(no, cap.limit, cap.period, cap.models, startMs, this.#taken(column, no, cap.models, startMs).sum);
  }

  /** What was charged since, before there was this cap, and when the latest of it counts. */
  #taken(column: NumberedOwner["column"], no: number, models: string | null, startMs: number): Taken {
    const ofOwner =
      column === "key_no" ? "key_no = ?1" : "(account_no = ?1 OR (key_no = ?1 AND account_no IS NULL))";
    const found = this.#database
      .query<Taken, [number, number, string]>(
        `SELECT coalesce(-sum(amount), 0) AS sum, coalesce(max(coalesce(counted_at_ms, at_ms)), 0) AS latestMs FROM entries
        WHERE ${ofOwner} AND kind = 'charge' AND coalesce(counted_at_ms, at_ms) >= ?2 AND model GLOB ?3`,
      )
      .get(no, startMs, models ?? "*");
    return found ?? { sum: 0, latestMs: 0 };
  }
}

interface Taken {
  readonly sum: number;
  readonly latestMs: number;
}

const selectTotals = "SELECT no, period_start_ms AS periodStartMs, used FROM caps";

const extendCap = `
UPDATE caps SET extra = iif(extra_period_ms = ?1, extra, 0) + ?2, extra_period_ms = ?1 WHERE no = ?3`;
