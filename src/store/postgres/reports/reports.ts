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
import type { Database } from "../database.ts";
import { findCalled } from "../tables/caller-id-table.ts";
import { findExchange, searchExchanges } from "./exchange-searcher.ts";
import { searchEntries } from "./row-searcher.ts";
import { keyDays, keyLastDays, usageReader } from "./usage-sums.ts";

export class PostgresReports implements Reports {
  readonly #database: Database;
  readonly #usage: ExactUsage;

  constructor(database: Database) {
    this.#database = database;
    this.#usage = new ExactUsage(usageReader(database.read));
  }

  usageInSteps(query: StepQuery): Promise<readonly StepFigures[]> {
    return this.#usage.inSteps(query);
  }

  usageBy(column: "model" | "provider" | "key", query: GroupQuery): Promise<readonly GroupFigures[]> {
    return this.#usage.by(column, query);
  }

  latencyInSteps(query: StepQuery): Promise<readonly LatencyBand[]> {
    return this.#usage.latencies(query);
  }

  keyDays(keyIds: readonly string[], fromDay: number, throughDay: number): Promise<readonly KeyDay[]> {
    return keyDays(this.#database.read, keyIds, fromDay, throughDay);
  }

  keyLastDays(keyIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return keyLastDays(this.#database.read, keyIds);
  }

  exchanges(query: ExchangeQuery): Promise<Cut<ListedExchange, string>> {
    return searchExchanges(this.#database.read, query);
  }

  /** Exchange ids are indexed, so that the entry's id is of no help. */
  exchange(exchangeId: string): Promise<FiledExchange | null> {
    return this.#database.readAll((query) => findExchange(query, exchangeId));
  }

  exchangesCalled(callerId: string, limit: number): Promise<readonly string[]> {
    return findCalled(this.#database.read, callerId, limit);
  }

  async endingsKept(): Promise<EndingsKept> {
    const [bounds] = await this.#database.read<EndingsBounds>(
      `SELECT min(id)::float8 AS first, max(id)::float8 AS last,
        (SELECT at_ms::float8 FROM exchange_endings ORDER BY id LIMIT 1) AS "oldestAtMs" FROM exchange_endings`,
    );
    return endingsKeptOf(bounds);
  }

  entries(query: EntrySearch): Promise<Cut<Entry, number>> {
    return searchEntries(this.#database.read, query);
  }
}
