import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { periodStart } from "../../../base/money/period.ts";
import { query, type Work } from "../../query.ts";
import type { ChargeEntry } from "../../records.ts";
import { raiseRevision } from "../../tables/revision.ts";
import { chargedValue, countsRow } from "../../tables/value-cap-table.ts";
import { laterUsed } from "../later-used.ts";
import { sqliteStatements } from "../own-statements.ts";
import { perform, sqliteText } from "../queries.ts";
import { otherAccount, type WrittenKey } from "./entry-writer.ts";

interface Delta {
  /** The key that charged last; the account may have more. */
  readonly key: WrittenKey;
  readonly periodStartMs: number;
  readonly atMs: number;
  countedAtMs: number;
  charged: number;
}

/**
 * Adds up what a batch changes on each account, so that each account is updated once per batch rather than once per
 * request. Differences, never absolute values: other processes write to the same rows.
 */
export class AccountDeltas {
  #byAccount = new Map<number, Delta>();
  readonly #database: Database;
  readonly #update: Statement;

  constructor(database: Database) {
    this.#database = database;
    this.#update = database.query(updateAccount);
  }

  add(key: WrittenKey, charge: ChargeEntry): void {
    const delta = this.#deltaOf(key, charge);
    delta.charged += charge.charged;
    delta.countedAtMs = Math.max(delta.countedAtMs, charge.countedAtMs);
  }

  /** Must run inside the batch's transaction, after its entries. */
  write(): void {
    for (const delta of this.#byAccount.values()) this.#apply(delta);
    this.forget();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#byAccount = new Map();
  }

  /** A delta belongs to one period. If a batch spans two, the earlier one is written at once. */
  #deltaOf(key: WrittenKey, charge: ChargeEntry): Delta {
    const { periodStartMs, atMs } = charge;
    const known = this.#byAccount.get(key.accountNo);
    if (known !== undefined) {
      if (known.periodStartMs === periodStartMs) return known;
      this.#apply(known);
    }
    const delta: Delta = { key, periodStartMs, atMs, countedAtMs: 0, charged: 0 };
    this.#byAccount.set(key.accountNo, delta);
    return delta;
  }

  #apply(delta: Delta): void {
    if (this.#tryUpdate(delta)) return;
    perform(this.#database, makeUp(delta.key, delta.charged, delta.atMs));
    assert(this.#tryUpdate(delta), "an account that was just made up must accept its charge");
  }

  #tryUpdate(delta: Delta): boolean {
    const { changes } = this.#update.run(
      delta.charged,
      delta.periodStartMs,
      delta.countedAtMs,
      delta.key.accountNo,
    );
    return changes > 0;
  }
}

/**
 * An operator may lower a balance just before the gateway, which saw the higher one, charges it. The balance still
 * never drops below 0: the missing part is returned as an adjustment and recorded as an overrun. The gateway learns
 * of the adjustment like any other, by the store's revision.
 */
function* makeUp({ no, accountNo }: WrittenKey, charged: number, atMs: number): Work<void> {
  const [found] = yield* query<{ missing: number; floor: number }>(
    "SELECT floor - (posted - $1) AS missing, floor FROM accounts WHERE no = $2",
    [charged, accountNo],
  );
  assert(found !== undefined, `there is no account ${accountNo}`);
  assert(found.floor === 0, `account ${accountNo} owes more than can be counted`);
  const note = "the balance was lowered while a charge was being written";
  const entry = { keyId: null, amountNano: found.missing, reference: null, note, atMs };
  const numbers = { accountNo, keyNo: no };
  yield* sqliteStatements.insertEntry("adjustment", entry, numbers, yield* raiseRevision());
  yield* query(
    "INSERT INTO entries (key_no, account_no, kind, amount, at_ms, note) VALUES ($1, $2, 'overrun', $3, $4, $5)",
    [no, otherAccount(no, accountNo), found.missing, atMs, note],
  );
}

const updateAccount = `
UPDATE accounts SET
  posted = posted - ?1,
  used = used + ?1,
  period_used = CASE
    WHEN ?2 = period_start_ms THEN period_used + ?1 WHEN ?2 > period_start_ms THEN ?1 + ${laterUsed("later_used", ">= ?2")} ELSE period_used END,
  period_start_ms = max(period_start_ms, ?2),
  counted_at_ms = max(counted_at_ms, ?3)
WHERE no = ?4 AND posted - ?1 >= floor`;

/**
 * Counts charges against the caps that apply to them. It reads the caps from the database in the batch's transaction,
 * so a cap that an operator just created counts charges that the gateway decided before it knew of it.
 */
export class CapWriter {
  readonly #any: Statement<{ any: number; anyByValue: number }, []>;
  readonly #count: Statement;
  readonly #countValues: Statement;
  #hasCaps = false;
  #hasValueCaps = false;

  constructor(database: Database) {
    this.#any = database.query(
      "SELECT EXISTS (SELECT 1 FROM caps) AS any, EXISTS (SELECT 1 FROM value_caps) AS anyByValue",
    );
    this.#count = database.query(countCharge);
    this.#countValues = database.query(countValues);
  }

  /** Before the first charge of a batch. */
  begin(): void {
    const found = this.#any.get();
    this.#hasCaps = found?.any === 1;
    this.#hasValueCaps = found?.anyByValue === 1;
  }

  add({ no, accountNo }: WrittenKey, { model, labels, charged, countedAtMs }: ChargeEntry): void {
    if (!this.#hasCaps && !this.#hasValueCaps) return;
    const starts = (["day", "week", "month"] as const).map((period) => periodStart(period, countedAtMs));
    if (this.#hasCaps) this.#count.run(no, accountNo, model, charged, ...starts, labels);
    if (this.#hasValueCaps) this.#countValues.run(no, accountNo, model, charged, ...starts, labels);
  }
}

const start = "(CASE period WHEN 'day' THEN ?5 WHEN 'week' THEN ?6 ELSE ?7 END)";

const countCharge = sqliteText(`
UPDATE caps SET
  used = CASE WHEN ${start} = period_start_ms THEN used + ?4 WHEN ${start} > period_start_ms THEN ?4 + ${laterUsed("later_used", `>= ${start}`)} ELSE used END,
  period_start_ms = max(period_start_ms, ${start})
WHERE (key_no = ?1 OR account_no = ?2) AND (sluice_covers(models, ?3) OR sluice_covers(models, ?8 ->> 'fallback_from'))`);

/** A charge as a row of `counted_charges`, for the conditions of caps by value. */
const countValues = sqliteText(`
WITH e AS (SELECT ?1 AS key_no, ?2 AS account_no, ?3 AS model, ?8 AS labels, ?8 ->> 'fallback_from' AS fallback_from)
INSERT INTO cap_values (cap_no, value, period_start_ms, used)
SELECT c.no, ${chargedValue}, CASE c.period WHEN 'day' THEN ?5 WHEN 'week' THEN ?6 ELSE ?7 END, ?4
FROM value_caps c, e WHERE ${countsRow("e", "e.account_no")}
ON CONFLICT (cap_no, value) DO UPDATE SET
  used = CASE WHEN excluded.period_start_ms = period_start_ms THEN used + ?4
    WHEN excluded.period_start_ms > period_start_ms THEN ?4 + ${laterUsed("later_used", ">= excluded.period_start_ms")} ELSE used END,
  period_start_ms = max(period_start_ms, excluded.period_start_ms)`);
