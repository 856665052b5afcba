import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { periodStart } from "../../../base/money/period.ts";
import { query, type Work } from "../../query.ts";
import type { ChargeEntry } from "../../records.ts";
import { raiseRevision } from "../../tables/revision.ts";
import { laterUsed } from "../later-used.ts";
import { sqliteStatements } from "../own-statements.ts";
import { perform, sqliteText } from "../queries.ts";
import { otherAccount, type WrittenKey } from "./entry-writer.ts";
import { ValueCapWriter } from "./value-cap-writer.ts";

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
  readonly #any: Statement<{ any: number; revision: number }, []>;
  readonly #count: Statement;
  readonly #values: ValueCapWriter;
  #hasCaps = false;

  constructor(database: Database) {
    this.#any = database.query("SELECT EXISTS (SELECT 1 FROM caps) AS any, revision FROM state");
    this.#count = database.query(countCharge);
    this.#values = new ValueCapWriter(database);
  }

  /** Call before the first charge of a batch. */
  begin(): void {
    const found = this.#any.get();
    assert(found !== null, "the state has one row");
    this.#hasCaps = found.any === 1;
    this.#values.begin(found.revision);
  }

  add(key: WrittenKey, charge: ChargeEntry): void {
    this.#values.add(key, charge);
    if (!this.#hasCaps) return;
    const { model, labels, charged, countedAtMs } = charge;
    const starts = (["day", "week", "month"] as const).map((period) => periodStart(period, countedAtMs));
    this.#count.run(key.no, key.accountNo, model, charged, ...starts, labels);
  }

  /** Must run inside the batch's transaction, after its charges. */
  write(): void {
    this.#values.write();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#values.forget();
  }
}

const start = "(CASE period WHEN 'day' THEN ?5 WHEN 'week' THEN ?6 ELSE ?7 END)";

const countCharge = sqliteText(`
UPDATE caps SET
  used = CASE WHEN ${start} = period_start_ms THEN used + ?4 WHEN ${start} > period_start_ms THEN ?4 + ${laterUsed("later_used", `>= ${start}`)} ELSE used END,
  period_start_ms = max(period_start_ms, ${start})
WHERE (key_no = ?1 OR account_no = ?2) AND (sluice_covers(models, ?3) OR sluice_covers(models, ?8 ->> 'fallback_from'))`);
