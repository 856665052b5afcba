import type { Database } from "bun:sqlite";
import type { AttemptRecord } from "../../../base/attempt.ts";
import { unknownModelMessage } from "../../../base/unknown-model.ts";
import { type EntryRow, entryOf } from "../../entry-row.ts";
import type { Entry } from "../../records.ts";
import { type ExchangeRow, listedExchange } from "../../reporting/exchange-row.ts";
import { listExchanges } from "../../reporting/list-exchanges.ts";
import type { Cut, ExchangeQuery, FiledExchange, ListedExchange } from "../../reports.ts";
import { selectEntries } from "../tables/entry-table.ts";
import { selectEnding, selectEndingWithAttempts, selectRecord } from "./exchange-rows.ts";
import { keyCondition, type Parameters, RowSearcher, rowsPerPiece } from "./row-searcher.ts";

const findMs = 5_000;
/** An overrun is written right after its charge, in the same transaction. */
const neighbours = 600;

interface EndingRow extends ExchangeRow {
  readonly attemptDetails: string | null;
}

/** Lists and finds exchanges. */
export class ExchangeSearcher {
  readonly #database: Database;
  readonly #rows: RowSearcher;

  constructor(database: Database) {
    this.#database = database;
    this.#rows = new RowSearcher(database);
  }

  list(query: ExchangeQuery): Promise<Cut<ListedExchange, string>> {
    return listExchanges(query, {
      completed: (beforeId) => this.#completed(query, beforeId),
      ended: (beforeId) => this.#ended(query, beforeId),
      completedTimeAt: async (id) => this.#rows.timeAt("entries", id),
      endedTimeAt: async (id) => this.#rows.timeAt("exchange_endings", id),
    });
  }

  async find(exchangeId: string, entryId: number | null): Promise<FiledExchange | null> {
    const ending = this.#database
      .query<EndingRow, [string]>(`${selectEndingWithAttempts} WHERE exchange_endings.exchange_id = ?`)
      .get(exchangeId);
    const attempts =
      ending?.attemptDetails == null ? [] : (JSON.parse(ending.attemptDetails) as AttemptRecord[]);
    const near = ending === null ? (entryId ?? (await this.#findEntry(exchangeId))) : ending.entryId;
    const entries = near === null ? [] : this.#entriesNear(near, exchangeId);
    if (ending !== null) return { exchange: listedExchange(ending), attempts, entries };
    if (entries.length === 0) return entryId === null ? null : this.find(exchangeId, null);
    const record = this.#database
      .query<ExchangeRow, [number]>(`${selectRecord} WHERE entries.id = ? AND recorded_at_ms IS NOT NULL`)
      .get(entries[0]?.id ?? 0);
    return { exchange: record && listedExchange(record), attempts, entries };
  }

  #completed(query: ExchangeQuery, beforeId: number | undefined): Promise<Cut<ExchangeRow, number>> {
    const { condition, parameters } = conditionOf(query, "entries", [
      "AND recorded_at_ms IS NOT NULL AND entries.outcome = 'completed'",
    ]);
    const { limit, sinceMs, untilMs } = query;
    return this.#rows.search<ExchangeRow>(
      { select: selectRecord, table: "entries", condition, parameters, beforeId, limit, sinceMs, untilMs },
      (row) => row.rowId,
    );
  }

  #ended(query: ExchangeQuery, beforeId: number | undefined): Promise<Cut<ExchangeRow, number>> {
    const outcome = query.outcome === undefined ? "<> 'completed'" : "= $outcome";
    const { condition, parameters } = conditionOf(query, "exchange_endings", [
      `AND exchange_endings.outcome ${outcome}`,
    ]);
    if (query.outcome !== undefined) parameters["outcome"] = query.outcome;
    const { limit, sinceMs, untilMs } = query;
    return this.#rows.search<ExchangeRow>(
      {
        select: selectEnding,
        table: "exchange_endings",
        condition,
        parameters,
        beforeId,
        limit,
        sinceMs,
        untilMs,
      },
      (row) => row.rowId,
    );
  }

  #entriesNear(entryId: number, exchangeId: string): readonly Entry[] {
    return this.#database
      .query<EntryRow, Parameters>(
        `${selectEntries} WHERE entries.id BETWEEN $from AND $to AND exchange_id = $exchangeId ORDER BY entries.id`,
      )
      .all({ exchangeId, from: entryId - neighbours, to: entryId + neighbours })
      .map(entryOf);
  }

  async #findEntry(exchangeId: string): Promise<number | null> {
    const giveUpAtMs = performance.now() + findMs;
    const query = this.#database.query<{ id: number }, Parameters>(
      "SELECT id FROM entries WHERE id BETWEEN $from AND $to AND exchange_id = $exchangeId LIMIT 1",
    );
    let to = this.#rows.newest("entries");
    for (; to > 0 && performance.now() < giveUpAtMs; to -= rowsPerPiece) {
      const found = query.get({ exchangeId, from: to - rowsPerPiece + 1, to });
      if (found !== null) return found.id;
      await Bun.sleep(0);
    }
    return null;
  }
}

function conditionOf(
  query: ExchangeQuery,
  table: "entries" | "exchange_endings",
  fixed: readonly string[],
): { condition: string; parameters: Parameters } {
  const parameters: Parameters = {};
  const key = keyCondition(query.keyId, parameters).replace("key_no", `${table}.key_no`);
  const conditions = [...fixed, key];
  if (query.model !== undefined) {
    const isUnknown = table === "exchange_endings" ? " OR message = $unknown" : "";
    conditions.push(`AND (${table}.model = $model${isUnknown})`);
    parameters["model"] = query.model;
    if (isUnknown !== "") parameters["unknown"] = unknownModelMessage(query.model);
  }
  for (const name of ["provider", "route", "code"] as const) {
    const value = query[name];
    if (value === undefined) continue;
    conditions.push(`AND ${table}.${name} = $${name}`);
    parameters[name] = value;
  }
  if (query.sinceMs !== undefined) {
    conditions.push(`AND ${table}.at_ms >= $sinceMs`);
    parameters["sinceMs"] = query.sinceMs;
  }
  if (query.untilMs !== undefined) {
    conditions.push(`AND ${table}.at_ms < $untilMs`);
    parameters["untilMs"] = query.untilMs;
  }
  return { condition: conditions.join(" "), parameters };
}
