import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import type { StoredRates } from "../../../base/money/rates.ts";
import { type AttemptCount, AttemptTally, attemptTotalNames } from "../../attempt-sums.ts";
import type { ChargeEntry, JournalItem, OutcomeRecord, UsageRecord } from "../../records.ts";
import { attemptKeyColumns, attemptTotalColumns } from "../../reporting/attempt-columns.ts";
import { upsertTotals } from "../../reporting/total-columns.ts";
import { entryRows, outcomeColumns, outcomeRow, type WrittenEntry } from "../../written-rows.ts";
import { insertNamed } from "../queries.ts";
import type { ChainedOwner, ChainWriter } from "./chain-writer.ts";

/** Inserts the ledger's entries. Most charges come with a usage record, stored in the same row. */
export class EntryWriter {
  readonly #rates: RatesWriter;
  readonly #chain: ChainWriter;
  readonly #database: Database;
  /** Prepared for the columns of the first row. */
  #insert: Statement | null = null;
  #lastId = 0;

  constructor(database: Database, rates: RatesWriter, chain: ChainWriter) {
    this.#database = database;
    this.#rates = rates;
    this.#chain = chain;
  }

  /** `attempt` is the one that the row contains; null if it contains none. Returns the id of the charge's entry. */
  insert(
    { no, accountNo }: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    attempt: AttemptCount | null,
  ): number {
    this.#rates.keep(charge.rates);
    const account = otherAccount(no, accountNo);
    const [row, ...overruns] = entryRows(charge, record);
    const owed = attempt && owedColumn(attempt, charge, record);
    const { accountId, keyId } = charge;
    const owner = { accountNo, accountId, keyId };
    const entryId = this.#run(owner, [no, account, attempt?.credential ?? null, owed], row);
    for (const overrun of overruns) this.#run(owner, [no, account, null, null], overrun);
    return entryId;
  }

  /** The newest entry; 0 before the first. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#lastId = 0;
  }

  /** By position: binding by name takes 2 µs longer. SQLite has `values` in this form alone. */
  #run(owner: ChainedOwner, values: SQLQueryBindings[], row: WrittenEntry): number {
    this.#insert ??= this.#database.query(insertEntry(Object.keys(row)));
    const id = this.#chain.nextId();
    const hash = this.#chain.link(owner, id, row);
    this.#insert.run([id, hash, ...values, ...Object.values(row)]);
    this.#lastId = id;
    return id;
  }
}

function insertEntry(columns: readonly string[]): string {
  const all = ["id", "hash", "key_no", "account_no", "credential", "owed_nano_usd", ...columns];
  return `INSERT INTO entries (${all.join(", ")}) VALUES (${all.map(() => "?").join(", ")})`;
}

/** Null if that is the cost. */
function owedColumn(
  { owedNanoUsd }: AttemptCount,
  { listCostNano }: ChargeEntry,
  record: UsageRecord | null,
): number | null {
  return owedNanoUsd === (listCostNano ?? record?.costNano) ? null : owedNanoUsd;
}

/** Writes each set of rates once, inside the batch's transaction. */
export class RatesWriter {
  readonly #insert: Statement;
  /** Rates that are in the database, or will be if this transaction commits. */
  readonly #known = new Set<number>();

  constructor(database: Database) {
    this.#insert = database.query("INSERT INTO rates (id, rates) VALUES (?, ?) ON CONFLICT DO NOTHING");
  }

  /** The id of the rates. */
  keep(rates: StoredRates | null): number | null {
    if (rates === null) return null;
    if (!this.#known.has(rates.id)) {
      this.#insert.run(rates.id, rates.text);
      this.#known.add(rates.id);
    }
    return rates.id;
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#known.clear();
  }
}

/**
 * The `account_no` of an entry or a hold: NULL for the key's own account, which has the key's number. So the common
 * case stores nothing, and rows older than accounts need no change.
 */
export function otherAccount(keyNo: number, accountNo: number): number | null {
  return accountNo === keyNo ? null : accountNo;
}

/** The part of a key that the writers need. */
export interface WrittenKey {
  readonly no: number;
  readonly accountNo: number;
  readonly isCredit: boolean;
}

/** A SQLite database has one gateway. */
const node = 0;

/** Adds up the usage of attempts, so that one row is written for many of them. */
export class AttemptWriter {
  readonly #tally = new AttemptTally();
  readonly #upsert: Statement;
  readonly #upsertDay: Statement;

  constructor(database: Database) {
    this.#upsert = database.query(upsertTotals("attempt_sums", attemptKeyColumns, attemptTotalColumns));
    this.#upsertDay = database.query(upsertTotals("attempt_days", ["day", "node_no"], attemptTotalColumns));
  }

  add(day: number, attempt: AttemptCount): void {
    this.#tally.add(day, attempt);
  }

  /** Inside the caller's transaction; `clear` follows once that has ended. */
  write(): void {
    for (const sums of this.#tally.all()) {
      const { day, provider, credential, upstreamModel, outcome } = sums;
      const totals = attemptTotalNames.map((name) => sums[name]);
      this.#upsert.run(provider, day, credential, upstreamModel, outcome, node, ...totals);
      this.#upsertDay.run(day, node, ...totals);
    }
  }

  clear(): void {
    this.#tally.clear();
  }
}

/**
 * The attempt of a charge whose row already contains all of it except the credential and what is owed. Null if there were other
 * attempts, or it used something else. Such an attempt needs no row in `attempt_sums`: with one, a
 * request by itself writes two more pages and takes 15% more CPU.
 */
export function rowAttempt({
  charge,
  record,
  attempts = [],
}: JournalItem & { kind: "settle" }): AttemptCount | null {
  const attempt = attempts[0];
  if (attempt === undefined || attempts.length > 1 || record === null) return null;
  const { usage, provider, upstreamModel } = record;
  const isSameDeployment = attempt.provider === provider && attempt.upstreamModel === upstreamModel;
  const isAsReported =
    attempt.inputTokens === usage.inputTokens &&
    attempt.cachedInputTokens === usage.cachedInputTokens &&
    attempt.cacheWriteTokens === usage.cacheWriteTokens &&
    attempt.outputTokens === usage.outputTokens &&
    attempt.countedInputTokens + attempt.countedOutputTokens + attempt.estimated === 0;
  return isSameDeployment && isAsReported && attempt.outcome === charge.outcome ? attempt : null;
}

/** Writes the outcomes of exchanges, inside the batch's transaction. */
export class OutcomeWriter {
  readonly #insert: Statement;

  constructor(database: Database) {
    this.#insert = database.query(insertOutcome);
  }

  /** `entryId` is the entry of its charge; null without a charge. */
  insert(keyNo: number, record: OutcomeRecord, entryId: number | null): void {
    this.#insert.run({ key_no: keyNo, entry_id: entryId, ...outcomeRow(record) });
  }
}

const insertOutcome = insertNamed("exchange_endings", ["key_no", "entry_id", ...outcomeColumns]);
