import type { Database } from "bun:sqlite";
import type { Entry } from "../records.ts";
import type { Cut, EntrySearch, ExchangeQuery, FiledExchange, FiledUsage } from "../reports.ts";

type Parameters = Record<string, string | number>;

interface Condition {
  readonly sql: string;
  readonly parameters: Parameters;
}

interface UsageRow extends Omit<FiledUsage, "usage" | "stream"> {
  readonly stream: number;
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

interface Bounds {
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly sinceMs?: number | undefined;
}

/** Entries are in the order of their ends, records tell their beginnings: they differ by this at most. */
const longestExchangeMs = 600_000;
/** So many entries are looked at without giving way: about five milliseconds. */
const entriesPerPiece = 20_000;
/** A search for something rare stops here and hands back a cursor; the reader may go on. */
const searchMs = 60;
const findMs = 5_000;
/** An overrun is written right after its charge, in the same transaction. */
const neighbours = 600;

/**
 * Looks through the entries, newest first, in pieces. There is no index on models or exchange ids, because
 * every one of them would make every request's charge dearer for the sake of a rare look.
 */
export class EntrySearcher {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async exchanges(query: ExchangeQuery): Promise<Cut<FiledUsage>> {
    const condition = exchangeCondition(query);
    const cut = await this.#search<UsageRow>(selectUsage, condition, query, (row) => row.entryId);
    return { rows: cut.rows.map(usageOf), nextBeforeId: cut.nextBeforeId };
  }

  entries(query: EntrySearch): Promise<Cut<Entry>> {
    const parameters: Parameters = {};
    const conditions = [keyCondition(query.keyId, parameters)];
    if (query.kind !== undefined) {
      conditions.push("AND kind = $kind");
      parameters["kind"] = query.kind;
    }
    return this.#search<Entry>(
      selectEntry,
      { sql: conditions.join(" "), parameters },
      query,
      (row) => row.id,
    );
  }

  async exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null> {
    const near = entryId ?? (await this.#find(exchangeId));
    if (near === null) return null;
    const range = { exchangeId, from: near - neighbours, to: near + neighbours };
    const where = "WHERE entries.id BETWEEN $from AND $to AND exchange_id = $exchangeId";
    const entries = this.#database.query<Entry, Parameters>(`${selectEntry} ${where}`).all(range);
    if (entries.length === 0) return entryId === null ? null : this.exchange(exchangeId, null);
    const record = this.#database
      .query<UsageRow, Parameters>(`${selectUsage} ${where} AND recorded_at_ms IS NOT NULL`)
      .get(range);
    return { record: record && usageOf(record), entries };
  }

  async #find(exchangeId: string): Promise<number | null> {
    const giveUpAtMs = performance.now() + findMs;
    const query = this.#database.query<{ id: number }, Parameters>(
      "SELECT id FROM entries WHERE id BETWEEN $from AND $to AND exchange_id = $exchangeId LIMIT 1",
    );
    for (let to = this.#newest(); to > 0 && performance.now() < giveUpAtMs; to -= entriesPerPiece) {
      const found = query.get({ exchangeId, from: to - entriesPerPiece + 1, to });
      if (found !== null) return found.id;
      await Bun.sleep(0);
    }
    return null;
  }

  async #search<Row>(
    select: string,
    { sql, parameters }: Condition,
    { beforeId, limit, sinceMs }: Bounds,
    idOf: (row: Row) => number,
  ): Promise<Cut<Row>> {
    const statement = this.#database.query<Row, Parameters>(
      `${select} WHERE entries.id BETWEEN $from AND $to ${sql} ORDER BY entries.id DESC LIMIT $limit`,
    );
    const stopAtMs = performance.now() + searchMs;
    const rows: Row[] = [];
    let to = Math.min((beforeId ?? Number.MAX_SAFE_INTEGER) - 1, this.#newest());
    for (; to > 0; to -= entriesPerPiece) {
      const from = to - entriesPerPiece + 1;
      rows.push(...statement.all({ ...parameters, from, to, limit: limit - rows.length }));
      const last = rows.at(-1);
      if (rows.length >= limit && last !== undefined) return { rows, nextBeforeId: idOf(last) };
      if (sinceMs !== undefined && this.#isOlder(from, sinceMs - longestExchangeMs)) break;
      if (performance.now() > stopAtMs) return { rows, nextBeforeId: from > 1 ? from : null };
      await Bun.sleep(0);
    }
    return { rows, nextBeforeId: null };
  }

  /** Whether everything before this entry is older than that. */
  #isOlder(id: number, thanMs: number): boolean {
    const query = this.#database.query<{ at_ms: number }, [number]>(
      "SELECT at_ms FROM entries WHERE id >= ? ORDER BY id LIMIT 1",
    );
    return (query.get(id)?.at_ms ?? 0) < thanMs;
  }

  #newest(): number {
    return (
      this.#database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM entries").get()?.id ?? 0
    );
  }
}

function keyCondition(keyId: string | undefined, parameters: Parameters): string {
  if (keyId === undefined) return "";
  parameters["keyId"] = keyId;
  return "AND key_no = (SELECT no FROM keys WHERE id = $keyId)";
}

function exchangeCondition(query: ExchangeQuery): Condition {
  const parameters: Parameters = {};
  const conditions = ["AND recorded_at_ms IS NOT NULL", keyCondition(query.keyId, parameters)];
  for (const name of ["model", "provider", "route", "outcome"] as const) {
    const value = query[name];
    if (value === undefined) continue;
    conditions.push(`AND ${name} = $${name}`);
    parameters[name] = value;
  }
  if (query.sinceMs !== undefined) {
    conditions.push("AND recorded_at_ms >= $sinceMs");
    parameters["sinceMs"] = query.sinceMs;
  }
  return { sql: conditions.join(" "), parameters };
}

function usageOf(row: UsageRow): FiledUsage {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens, ...rest } = row;
  const usage = { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return { ...rest, stream: row.stream === 1, usage };
}

const selectUsage = `
SELECT entries.id AS entryId, exchange_id AS exchangeId, keys.id AS keyId, recorded_at_ms AS atMs, route, model,
  provider, upstream_model AS upstreamModel, stream, outcome, entries.status, input_tokens AS inputTokens,
  cached_input_tokens AS cachedInputTokens, cache_write_tokens AS cacheWriteTokens,
  output_tokens AS outputTokens, reasoning_tokens AS reasoningTokens, basis, cost_nano AS costNano,
  first_byte_ms AS firstByteMs, total_ms AS totalMs, attempts
FROM entries JOIN keys ON keys.no = entries.key_no`;

const selectEntry = `
SELECT entries.id, keys.id AS keyId, kind, amount, at_ms AS atMs, exchange_id AS exchangeId, basis, outcome,
  period_start_ms AS periodStartMs, reference, note
FROM entries JOIN keys ON keys.no = entries.key_no`;
