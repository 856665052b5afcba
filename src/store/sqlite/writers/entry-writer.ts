import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import type { ChargeEntry, UsageRecord } from "../../records.ts";
import { quantitiesColumn, savingsColumn } from "../../stored-quantities.ts";
import { otherAccount } from "../tables/account-number.ts";
import type { RatesWriter } from "./rates-writer.ts";
import type { WrittenKey } from "./written-key.ts";

/** What is bound for a charge with its usage record, in this order. */
const recordedColumns = `key_no, account_no, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome,
  recorded_at_ms, route, model, provider, upstream_model, stream, status,
  input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  cost_nano, first_byte_ms, total_ms, attempts, list_cost_nano, asked_model, rates_id, quantities, labels, cache_savings_nano,
  credential`;
const valuesPerRow = recordedColumns.split(",").length;
/** An overrun is explained by the charge beside it. */
const unexplained: readonly SQLQueryBindings[] = [null, null, null, null, null];
/** Most batches fit into one such statement; longer ones gain almost nothing. */
const mostRowsPerStatement = 32;

/**
 * Inserts the ledger's entries. Most charges come with a usage record, which is the rest of the same row. These are
 * collected and written many per statement, because a statement costs about as much as a row. The order is kept.
 */
export class EntryWriter {
  readonly #database: Database;
  readonly #rates: RatesWriter;
  readonly #insertPlain: Statement;
  /** By the number of rows they insert, prepared when first needed. */
  readonly #insertRecorded: Statement[] = [];
  /** The values of the waiting rows, one after the other. Reused, because growing a new array costs what this saves. */
  readonly #values = new Array<SQLQueryBindings>(mostRowsPerStatement * valuesPerRow).fill(null);
  #waitingRows = 0;
  #lastId = 0;

  constructor(database: Database, rates: RatesWriter) {
    this.#database = database;
    this.#rates = rates;
    this.#insertPlain = database.query(insertPlain);
  }

  /**
   * May be deferred; call `flush` before the batch's transaction ends. `credential` is that of the attempt if the row says
   * the rest of it.
   */
  charge(
    key: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    credential: string | null = null,
  ): void {
    if (record === null) this.#plain(key, "charge", -charge.charged, charge);
    else this.#recorded(key, charge, record, credential);
    if (charge.overrun > 0) this.#plain(key, "overrun", charge.overrun, charge);
  }

  /** Inserts at once, for a charge that another row refers to. Returns the entry's id. */
  chargeNow(
    key: WrittenKey,
    charge: ChargeEntry,
    record: UsageRecord | null,
    credential: string | null,
  ): number {
    this.charge(key, { ...charge, overrun: 0 }, record, credential);
    this.flush();
    const entryId = this.#lastId;
    if (charge.overrun > 0) this.#plain(key, "overrun", charge.overrun, charge);
    return entryId;
  }

  /** The transaction was rolled back. */
  forget(): void {
    this.#waitingRows = 0;
  }

  #plain(key: WrittenKey, kind: "charge" | "overrun", amount: number, charge: ChargeEntry): void {
    this.flush();
    const { lastInsertRowid } = this.#insertPlain.run(
      key.no,
      otherAccount(key.no, key.accountNo),
      kind,
      amount,
      charge.atMs,
      charge.periodStartMs,
      charge.countedAtMs,
      charge.exchangeId,
      charge.basis,
      charge.outcome,
      charge.model,
      charge.provider,
      ...(kind === "charge" ? this.#explained(charge) : unexplained),
    );
    this.#lastId = Number(lastInsertRowid);
  }

  #explained({ listCostNano, askedModel, rates, quantities, labels }: ChargeEntry): SQLQueryBindings[] {
    return [listCostNano, askedModel, this.#rates.idOf(rates), quantitiesColumn(quantities, null), labels];
  }

  #recorded(key: WrittenKey, charge: ChargeEntry, record: UsageRecord, credential: string | null): void {
    const ratesId = this.#rates.idOf(charge.rates);
    let end = fillRow(this.#values, this.#waitingRows * valuesPerRow, key, charge, record, ratesId);
    this.#values[end++] = credential;
    this.#waitingRows += 1;
    assert(end === this.#waitingRows * valuesPerRow, "a row must fill its columns and no others");
    if (this.#waitingRows === mostRowsPerStatement) this.flush();
  }

  /** Writes what waits. */
  flush(): void {
    const rows = this.#waitingRows;
    if (rows === 0) return;
    const values = rows === mostRowsPerStatement ? this.#values : this.#values.slice(0, rows * valuesPerRow);
    const { changes, lastInsertRowid } = this.#insertionOf(rows).run(values);
    assert(changes === rows, `${rows} charges must make as many entries, not ${changes}`);
    this.#waitingRows = 0;
    this.#lastId = Number(lastInsertRowid);
  }

  #insertionOf(rows: number): Statement {
    const known = this.#insertRecorded[rows];
    if (known !== undefined) return known;
    // Not `prepare`: closing the database finalizes only statements of `query`, and an open one keeps the WAL alive.
    const statement = this.#database.query(insertRecorded(rows));
    this.#insertRecorded[rows] = statement;
    return statement;
  }
}

/** Writes the values of one row from `index` on, and returns where the next row begins. */
function fillRow(
  values: SQLQueryBindings[],
  index: number,
  { no, accountNo }: WrittenKey,
  charge: ChargeEntry,
  record: UsageRecord,
  ratesId: number | null,
): number {
  const { usage } = record;
  let next = index;
  values[next++] = no;
  values[next++] = otherAccount(no, accountNo);
  values[next++] = -charge.charged;
  values[next++] = charge.atMs;
  values[next++] = charge.periodStartMs;
  values[next++] = charge.countedAtMs;
  values[next++] = charge.exchangeId;
  values[next++] = charge.basis;
  values[next++] = charge.outcome;
  values[next++] = record.atMs;
  values[next++] = record.route;
  values[next++] = record.model;
  values[next++] = record.provider;
  values[next++] = record.upstreamModel;
  values[next++] = record.stream ? 1 : 0;
  values[next++] = record.status;
  values[next++] = usage.inputTokens;
  values[next++] = usage.cachedInputTokens;
  values[next++] = usage.cacheWriteTokens;
  values[next++] = usage.outputTokens;
  values[next++] = usage.reasoningTokens;
  values[next++] = record.costNano;
  values[next++] = record.firstByteMs === null ? null : Math.round(record.firstByteMs);
  values[next++] = Math.round(record.totalMs);
  values[next++] = record.attempts;
  values[next++] = charge.listCostNano;
  values[next++] = charge.askedModel;
  values[next++] = ratesId;
  values[next++] = quantitiesColumn(charge.quantities, usage);
  values[next++] = charge.labels;
  values[next++] = savingsColumn(charge.rates, charge.quantities);
  return next;
}

function insertRecorded(rows: number): string {
  const row = `('charge', ${Array.from({ length: valuesPerRow }, () => "?").join(", ")})`;
  return `
INSERT INTO entries (kind, ${recordedColumns})
VALUES ${Array.from({ length: rows }, () => row).join(", ")}`;
}

const insertPlain = `
INSERT INTO entries (key_no, account_no, kind, amount, at_ms, period_start_ms, counted_at_ms, exchange_id, basis, outcome,
  model, provider, list_cost_nano, asked_model, rates_id, quantities, labels)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
