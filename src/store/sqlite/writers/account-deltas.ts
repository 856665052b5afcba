import type { Database, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { utcDay } from "../../../base/clock.ts";
import { totalInput } from "../../../base/usage/usage.ts";
import type { CountedCharge } from "../../counted-charges.ts";
import { query, type Work } from "../../query.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { chainEntry } from "../../tables/chained-entry.ts";
import { raiseRevision } from "../../tables/revision.ts";
import { sqliteStatements } from "../own-statements.ts";
import { perform } from "../queries.ts";
import type { ChainWriter } from "./chain-writer.ts";
import { otherAccount, type WrittenKey } from "./entry-writer.ts";

interface AccountDelta {
  /** The key that charged last; the account may have more. */
  readonly key: WrittenKey;
  readonly periodStartMs: number;
  readonly atMs: number;
  countedAtMs: number;
  charged: number;
}

/**
 * Adds up what a batch changes on each account, so that each account is updated once per batch rather than once per
 * request. Differences, never absolute values: an operator's change is written to the same rows between two batches.
 */
export class AccountDeltas {
  #byAccount = new Map<number, AccountDelta>();
  readonly #database: Database;
  readonly #chain: ChainWriter;
  readonly #update: Statement;

  constructor(database: Database, chain: ChainWriter) {
    this.#database = database;
    this.#chain = chain;
    this.#update = database.query(updateAccount);
  }

  add(key: WrittenKey, charge: CountedCharge): void {
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
  #deltaOf(key: WrittenKey, charge: CountedCharge): AccountDelta {
    const { periodStartMs, atMs } = charge;
    const known = this.#byAccount.get(key.accountNo);
    if (known !== undefined) {
      if (known.periodStartMs === periodStartMs) return known;
      this.#apply(known);
    }
    const delta: AccountDelta = { key, periodStartMs, atMs, countedAtMs: 0, charged: 0 };
    this.#byAccount.set(key.accountNo, delta);
    return delta;
  }

  #apply(delta: AccountDelta): void {
    if (this.#tryUpdate(delta)) return;
    // What follows adds entries by itself.
    this.#chain.write();
    perform(this.#database, makeUp(delta.key, delta.charged, delta.atMs));
    assert(this.#tryUpdate(delta), "an account that was just made up must accept its charge");
  }

  #tryUpdate(delta: AccountDelta): boolean {
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
  const entry = { amount: found.missing, atMs, reference: null, note };
  const numbers = { accountNo, keyNo: no };
  const made = yield* chainEntry(sqliteStatements, numbers, { ...entry, kind: "adjustment" });
  yield* sqliteStatements.insertEntry(made, numbers, yield* raiseRevision());
  const { id, hash } = yield* chainEntry(sqliteStatements, numbers, { ...entry, kind: "overrun" });
  yield* query(
    `INSERT INTO entries (id, hash, key_no, account_no, kind, amount, at_ms, note)
    VALUES ($1, $2, $3, $4, 'overrun', $5, $6, $7)`,
    [id, hash, no, otherAccount(no, accountNo), found.missing, atMs, note],
  );
}

const updateAccount = `
UPDATE accounts SET
  posted = posted - ?1,
  used = used + ?1,
  period_used = CASE
    WHEN ?2 = period_start_ms THEN period_used + ?1 WHEN ?2 > period_start_ms THEN ?1 + ${laterUsed("later_used", "?2")} ELSE period_used END,
  period_start_ms = max(period_start_ms, ?2),
  counted_at_ms = max(counted_at_ms, ?3)
WHERE no = ?4 AND posted - ?1 >= floor`;

interface KeyDelta {
  readonly keyNo: number;
  readonly day: number;
  spent: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  lastCostNano: number | null;
}

/** Adds up what a batch changes in the totals of each key, so that each key is updated once per batch. */
export class KeySums {
  readonly #byKey = new Map<number, KeyDelta>();
  readonly #update: Statement;

  constructor(database: Database) {
    this.#update = database.query(updateKey);
  }

  add(keyNo: number, { charged, atMs }: ChargeEntry, record: UsageRecord | null): void {
    const delta = this.#deltaOf(keyNo, utcDay(atMs), charged);
    delta.spent += charged;
    if (record === null) return;
    delta.requests += 1;
    delta.inputTokens += totalInput(record.usage);
    delta.outputTokens += record.usage.outputTokens;
    delta.lastCostNano = record.costNano;
  }

  /** Must run inside the batch's transaction. */
  write(): void {
    for (const delta of this.#byKey.values()) this.#apply(delta);
    this.forget();
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#byKey.clear();
  }

  /** A delta belongs to one day. Another day, or a sum that a double cannot hold exactly, is written at once. */
  #deltaOf(keyNo: number, day: number, charged: number): KeyDelta {
    const known = this.#byKey.get(keyNo);
    if (known !== undefined) {
      if (known.day === day && Number.isSafeInteger(known.spent + charged)) return known;
      this.#apply(known);
    }
    const delta = { keyNo, day, spent: 0, requests: 0, inputTokens: 0, outputTokens: 0, lastCostNano: null };
    this.#byKey.set(keyNo, delta);
    return delta;
  }

  #apply({ keyNo, day, spent, requests, inputTokens, outputTokens, lastCostNano }: KeyDelta): void {
    this.#update.run(keyNo, day, spent, requests, inputTokens, outputTokens, lastCostNano);
  }
}

/** A day that begins takes what a clock that was ahead has spent on it before. */
const updateKey = `
UPDATE key_sums SET day = max(day, ?2), day_spend = iif(?2 > day, ${laterUsed("later_spend", "?2")}, day_spend) + iif(?2 >= day, ?3, 0), spent = spent + ?3,
  requests = requests + ?4, input_tokens = input_tokens + ?5, output_tokens = output_tokens + ?6,
  last_cost_nano = coalesce(?7, last_cost_nano)
WHERE key_no = ?1`;

/** The amount of a column of `LaterUse` that counts in the period, or day, that begins then, as SQL. */
export function laterUsed(column: string, start: string): string {
  return `(SELECT coalesce(sum(value ->> 'used'), 0) FROM json_each(${column}) WHERE value ->> 'at' = ${start} OR value ->> 'in' = ${start})`;
}
