import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import type { KeptRates } from "../../../base/money/rates.ts";
import type { AttemptCount } from "../../attempt-sums.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { msColumn, quantitiesColumn, savingsColumn } from "../../stored-columns.ts";

/** The bound columns of an entry, in order. */
const columns = `kind, key_no, account_no, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome,
  recorded_at_ms, route, model, provider, upstream_model, stream, status,
  input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  cost_nano, first_byte_ms, total_ms, attempts, list_cost_nano, asked_model, rates_id, quantities, labels, cache_savings_nano,
  credential, owed_nano_usd`;
const valuesPerRow = columns.split(",").length;
/** An overrun has none of these: the charge before it explains it. */
const unexplained = { listCostNano: null, requestedModel: null, rates: null, quantities: null };
/** An overrun has the route of the usage record that its charge came with. */
type RoutedCharge = ChargeEntry & { readonly route?: string | null };
/** Most batches fit into one statement of this size; longer ones gain almost nothing. */
const maxRowsPerStatement = 32;

/**
 * Inserts the ledger's entries. Most charges come with a usage record, stored in the same row. Rows are collected and
 * written many per statement, because a statement costs about as much as a row. The order is kept.
 */
export class EntryWriter {
  readonly #database: Database;
  readonly #rates: RatesWriter;
  /** By the number of rows they insert, prepared when first needed. */
  readonly #inserts: Statement[] = [];
  /** The values of the waiting rows, one after the other. Reused, because growing a new array costs what this saves. */
  readonly #values = new Array<SQLQueryBindings>(maxRowsPerStatement * valuesPerRow).fill(null);
  #waitingRows = 0;
  #lastId = 0;

  constructor(database: Database, rates: RatesWriter) {
    this.#database = database;
    this.#rates = rates;
  }

  /**
   * Can be deferred: call `flush` before the batch's transaction ends. `attempt` is the one that the row contains; null if it contains
   * none.
   */
  charge(
    key: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    attempt: AttemptCount | null = null,
  ): void {
    this.#addCharge(key, charge, record, attempt);
    this.#addOverruns(key, charge, record);
  }

  /** Inserts at once, for a charge that another row refers to. Returns the entry's id. */
  chargeNow(
    key: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    attempt: AttemptCount | null,
  ): number {
    this.#addCharge(key, charge, record, attempt);
    // It may have completed a statement, and so be written already.
    this.flush();
    const entryId = this.#lastId;
    this.#addOverruns(key, charge, record);
    return entryId;
  }

  /** Writes what waits. */
  flush(): void {
    const rows = this.#waitingRows;
    if (rows === 0) return;
    const values = rows === maxRowsPerStatement ? this.#values : this.#values.slice(0, rows * valuesPerRow);
    const { changes, lastInsertRowid } = this.#insertionOf(rows).run(values);
    assert(changes === rows, `${rows} entries must make as many rows, not ${changes}`);
    this.#waitingRows = 0;
    this.#lastId = Number(lastInsertRowid);
  }

  /** The newest entry; 0 before the first. */
  get lastId(): number {
    return this.#lastId;
  }

  /** Call it after a rollback. */
  forget(): void {
    this.#waitingRows = 0;
    this.#lastId = 0;
  }

  #addCharge(
    key: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    attempt: AttemptCount | null,
  ): void {
    this.#add("charge", charge.owed - charge.charged, key, charge, record, attempt);
  }

  /** Adds the amounts owed above caps and those not charged. Both count for the model, provider and route of the charge. */
  #addOverruns(key: WrittenKey, charge: ChargeEntry, record: UsageRecord | null): void {
    if (charge.owed === 0 && charge.overrun === 0) return;
    const { model, provider } = record ?? charge;
    const entry = { ...charge, ...unexplained, model, provider, route: record?.route ?? null };
    if (charge.owed > 0) this.#add("overrun", -charge.owed, key, entry, null, null);
    if (charge.overrun > 0) this.#add("overrun", charge.overrun, key, entry, null, null);
  }

  #add(
    kind: "charge" | "overrun",
    amount: number,
    key: WrittenKey,
    charge: RoutedCharge,
    record: UsageRecord | null,
    attempt: AttemptCount | null,
  ): void {
    const values = this.#values;
    let next = this.#waitingRows * valuesPerRow;
    values[next++] = kind;
    values[next++] = key.no;
    values[next++] = otherAccount(key.no, key.accountNo);
    values[next++] = amount;
    values[next++] = charge.atMs;
    values[next++] = charge.periodStartMs;
    values[next++] = charge.countedAtMs;
    values[next++] = charge.exchangeId;
    values[next++] = charge.basis;
    values[next++] = charge.outcome;
    next = fillRecord(values, next, charge, record);
    values[next++] = charge.listCostNano;
    values[next++] = charge.requestedModel;
    values[next++] = this.#rates.idOf(charge.rates);
    values[next++] = quantitiesColumn(charge.quantities, record?.usage ?? null);
    values[next++] = charge.labels;
    values[next++] = record && savingsColumn(charge.rates, charge.quantities);
    values[next++] = attempt?.credential ?? null;
    values[next++] = owedColumn(attempt, charge, record);
    this.#waitingRows += 1;
    assert(next === this.#waitingRows * valuesPerRow, "a row must fill its columns and no others");
    if (this.#waitingRows === maxRowsPerStatement) this.flush();
  }

  #insertionOf(rows: number): Statement {
    const known = this.#inserts[rows];
    if (known !== undefined) return known;
    // Not `prepare`: closing the database finalizes only statements of `query`, and an open one keeps the WAL alive.
    const statement = this.#database.query(insertion(rows));
    this.#inserts[rows] = statement;
    return statement;
  }
}

function owedColumn(
  attempt: AttemptCount | null,
  { listCostNano }: RoutedCharge,
  record: UsageRecord | null,
): number | null {
  if (attempt === null || attempt.owedNanoUsd === (listCostNano ?? record?.costNano)) return null;
  return attempt.owedNanoUsd;
}

/** The columns of the usage record, from `recorded_at_ms` to `attempts`. Returns where the next one is. */
function fillRecord(
  values: SQLQueryBindings[],
  index: number,
  charge: RoutedCharge,
  record: UsageRecord | null,
): number {
  const usage = record?.usage;
  let next = index;
  values[next++] = record?.atMs ?? null;
  values[next++] = record?.route ?? charge.route ?? null;
  values[next++] = record?.model ?? charge.model;
  values[next++] = record?.provider ?? charge.provider;
  values[next++] = record?.upstreamModel ?? null;
  values[next++] = record && (record.stream ? 1 : 0);
  values[next++] = record?.status ?? null;
  values[next++] = usage?.inputTokens ?? null;
  values[next++] = usage?.cachedInputTokens ?? null;
  values[next++] = usage?.cacheWriteTokens ?? null;
  values[next++] = usage?.outputTokens ?? null;
  values[next++] = usage?.reasoningTokens ?? null;
  values[next++] = record?.costNano ?? null;
  values[next++] = msColumn(record?.firstByteMs ?? null);
  values[next++] = msColumn(record?.totalMs ?? null);
  values[next++] = record?.attempts ?? null;
  return next;
}

function insertion(rows: number): string {
  const row = `(${Array.from({ length: valuesPerRow }, () => "?").join(", ")})`;
  return `INSERT INTO entries (${columns}) VALUES ${Array.from({ length: rows }, () => row).join(", ")}`;
}

/** Writes each set of rates once, inside the batch's transaction. */
export class RatesWriter {
  readonly #insert: Statement;
  /** Rates that are in the database, or will be if this transaction commits. */
  readonly #known = new Set<number>();

  constructor(database: Database) {
    this.#insert = database.query("INSERT INTO rates (id, rates) VALUES (?, ?) ON CONFLICT DO NOTHING");
  }

  idOf(rates: KeptRates | null): number | null {
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
