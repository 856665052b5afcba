import type { Database } from "bun:sqlite";
import type { Entry } from "../../records.ts";
import { type EndingsBounds, endingsKeptOf } from "../../reporting/endings-kept.ts";
import { ExactUsage } from "../../reporting/exact-usage.ts";
import type {
  Cut,
  EndingsKept,
  EntrySearch,
  ExchangeQuery,
  FiledExchange,
  GroupFigures,
  GroupQuery,
  KeyDay,
  LatencyBand,
  ListedExchange,
  Reports,
  StepFigures,
  StepQuery,
} from "../../reports.ts";
import { patiently } from "../connection.ts";
import { CallerIdTable } from "../tables/caller-id-table.ts";
import { ExchangeSearcher } from "./exchange-searcher.ts";
import { type Parameters, RowSearcher } from "./row-searcher.ts";
import { UsageSums } from "./usage-sums.ts";

/** Operators' questions, answered from the sums and, one by one, from the rows. */
export class SqliteReports implements Reports {
  readonly #database: Database;
  readonly #timeoutMs: number;
  readonly #sums: ExactUsage;
  readonly #rows: RowSearcher;
  readonly #exchanges: ExchangeSearcher;
  readonly #callerIds: CallerIdTable;

  constructor(database: Database, timeoutMs: number) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
    this.#sums = new ExactUsage(new UsageSums(database, timeoutMs));
    this.#rows = new RowSearcher(database);
    this.#exchanges = new ExchangeSearcher(database);
    this.#callerIds = new CallerIdTable(database);
  }

  usageInSteps(query: StepQuery): Promise<readonly StepFigures[]> {
    return this.#sums.inSteps(query);
  }

  usageBy(column: "model" | "provider" | "key", query: GroupQuery): Promise<readonly GroupFigures[]> {
    return this.#sums.by(column, query);
  }

  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]> {
    return this.#sums.latencies(query);
  }

  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]> {
    const places = keyIds.map((_, place) => `$key${place}`).join(", ");
    const ids = Object.fromEntries(keyIds.map((id, place) => [`key${place}`, id]));
    return this.#all<KeyDay>(
      `SELECT keyId, day, sum(spend_nano) AS spendNano, sum(spend_tokens) AS spendTokens FROM (
        SELECT keys.id AS keyId, day, spend_nano, spend_tokens
        FROM keys CROSS JOIN usage_key_days ON key_no = keys.no
        WHERE keys.id IN (${places}) AND day BETWEEN $fromDay AND $throughDay
        UNION ALL
        SELECT keys.id, at_ms / 86400000, spend_nano, spend_tokens
        FROM uncounted_usage JOIN keys ON keys.no = key_no
        WHERE keys.id IN (${places}) AND at_ms / 86400000 BETWEEN $fromDay AND $throughDay
      ) GROUP BY 1, 2`,
      { ...ids, fromDay, throughDay },
    );
  }

  async keyLastDays(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (keyIds.length === 0) return new Map();
    const places = keyIds.map((_, place) => `$key${place}`).join(", ");
    const ids = Object.fromEntries(keyIds.map((id, place) => [`key${place}`, id]));
    const rows = await this.#all<{ keyId: string; day: number }>(
      `SELECT keyId, max(day) AS day FROM (
        SELECT keys.id AS keyId, (SELECT max(day) FROM usage_key_days WHERE key_no = keys.no) AS day
        FROM keys WHERE keys.id IN (${places})
        UNION ALL
        SELECT keys.id, at_ms / 86400000 FROM uncounted_usage JOIN keys ON keys.no = key_no
        WHERE keys.id IN (${places})
      ) WHERE day IS NOT NULL GROUP BY 1`,
      ids,
    );
    return new Map(rows.map(({ keyId, day }) => [keyId, day]));
  }

  exchanges(query: ExchangeQuery): Promise<Cut<ListedExchange, string>> {
    return this.#exchanges.list(query);
  }

  exchangesCalled(callerId: string, limit: number): Promise<readonly string[]> {
    return patiently(this.#timeoutMs, () => this.#callerIds.find(callerId, limit));
  }

  exchange(exchangeId: string, entryId: number | null): Promise<FiledExchange | null> {
    return this.#exchanges.find(exchangeId, entryId);
  }

  async endingsKept(): Promise<EndingsKept> {
    const [bounds] = await this.#all<EndingsBounds>(
      `SELECT min(id) AS first, max(id) AS last,
        (SELECT at_ms FROM exchange_endings ORDER BY id LIMIT 1) AS oldestAtMs FROM exchange_endings`,
      {},
    );
    return endingsKeptOf(bounds);
  }

  entries(query: EntrySearch): Promise<Cut<Entry, number>> {
    return this.#rows.entries(query);
  }

  #all<Row>(sql: string, parameters: Parameters): Promise<readonly Row[]> {
    return patiently(this.#timeoutMs, () => this.#database.query<Row, Parameters>(sql).all(parameters));
  }
}
