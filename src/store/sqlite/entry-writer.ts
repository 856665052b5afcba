import type { Database, Statement } from "bun:sqlite";
import type { ChargeEntry, UsageRecord } from "../records.ts";

/** Inserts the ledger's entries. Most charges come with a usage record, which is the rest of the same row. */
export class EntryWriter {
  readonly #insertRecorded: Statement;
  readonly #insertPlain: Statement;

  constructor(database: Database) {
    this.#insertRecorded = database.query(insertRecorded);
    this.#insertPlain = database.query(insertPlain);
  }

  /** Returns the id of the last entry it wrote. */
  charge(keyNo: number, charge: ChargeEntry, record: UsageRecord | null): number {
    const id =
      record === null
        ? this.#plain(keyNo, "charge", -charge.charged, charge)
        : this.#recorded(keyNo, charge, record);
    return charge.overrun > 0 ? this.#plain(keyNo, "overrun", charge.overrun, charge) : id;
  }

  #plain(keyNo: number, kind: "charge" | "overrun", amount: number, charge: ChargeEntry): number {
    const { lastInsertRowid } = this.#insertPlain.run(
      keyNo,
      kind,
      amount,
      charge.atMs,
      charge.periodStartMs,
      charge.exchangeId,
      charge.basis,
      charge.outcome,
    );
    return Number(lastInsertRowid);
  }

  #recorded(keyNo: number, charge: ChargeEntry, record: UsageRecord): number {
    const { usage } = record;
    const { lastInsertRowid } = this.#insertRecorded.run(
      keyNo,
      -charge.charged,
      charge.atMs,
      charge.periodStartMs,
      charge.exchangeId,
      charge.basis,
      charge.outcome,
      record.atMs,
      record.route,
      record.model,
      record.provider,
      record.upstreamModel,
      record.stream ? 1 : 0,
      record.status,
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens,
      usage.outputTokens,
      usage.reasoningTokens,
      record.costNano,
      record.firstByteMs === null ? null : Math.round(record.firstByteMs),
      Math.round(record.totalMs),
      record.attempts,
    );
    return Number(lastInsertRowid);
  }
}

const insertRecorded = `
INSERT INTO entries (key_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome,
  recorded_at_ms, route, model, provider, upstream_model, stream, status,
  input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  cost_nano, first_byte_ms, total_ms, attempts)
VALUES (?, 'charge', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const insertPlain = `
INSERT INTO entries (key_no, kind, amount, at_ms, period_start_ms, exchange_id, basis, outcome)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
