import type { Database } from "bun:sqlite";
import { type EntryRow, entryOf } from "../../entry-row.ts";
import type { Entry } from "../../records.ts";
import { disorderMs, lastIdBefore, rowsThatTell } from "../../reporting/seek-time.ts";
import type { Cut, EntrySearch } from "../../reports.ts";
import { selectEntries } from "../tables/entry-table.ts";

export type Parameters = Record<string, string | number>;

export interface RowSearch {
  readonly select: string;
  readonly table: "entries" | "exchange_endings";
  /** Begins with `AND`, or empty. */
  readonly condition: string;
  readonly parameters: Parameters;
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Rows examined before yielding: about 5 ms. */
export const rowsPerPiece = 20_000;
/** A search for something rare stops here and returns a cursor to continue from. */
const searchMs = 60;

/**
 * Scans entries or endings in chunks, newest first. Entries have no index on models or exchange ids, because each index
 * would make every charge more expensive for the sake of rare searches.
 */
export class RowSearcher {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async entries({ beforeId, limit, keyId, kind }: EntrySearch): Promise<Cut<Entry, number>> {
    const parameters: Parameters = {};
    const conditions = [keyCondition(keyId, parameters)];
    if (kind !== undefined) {
      conditions.push("AND kind = $kind");
      parameters["kind"] = kind;
    }
    const condition = conditions.join(" ");
    const { rows, next } = await this.search<EntryRow>(
      { select: selectEntries, table: "entries", condition, parameters, beforeId, limit },
      (row) => row.id,
    );
    return { rows: rows.map(entryOf), next };
  }

  async search<Row>(search: RowSearch, idOf: (row: Row) => number): Promise<Cut<Row, number>> {
    const { select, table, condition, parameters, limit, sinceMs } = search;
    const statement = this.#database.query<Row, Parameters>(
      `${select} WHERE ${table}.id BETWEEN $from AND $to ${condition} ORDER BY ${table}.id DESC LIMIT $limit`,
    );
    const stopAtMs = performance.now() + searchMs;
    const rows: Row[] = [];
    let to = await this.#newestOf(search);
    for (; to > 0; to -= rowsPerPiece) {
      const from = to - rowsPerPiece + 1;
      rows.push(...statement.all({ ...parameters, from, to, limit: limit - rows.length }));
      const last = rows.at(-1);
      if (rows.length >= limit && last !== undefined) return { rows, next: idOf(last) };
      if (sinceMs !== undefined && this.#timeBefore(table, from) < sinceMs - disorderMs) break;
      if (performance.now() > stopAtMs) return { rows, next: from > 1 ? from : null };
      await Bun.sleep(0);
    }
    return { rows, next: null };
  }

  async #newestOf({ table, beforeId, untilMs }: RowSearch): Promise<number> {
    const newest = this.newest(table);
    if (beforeId !== undefined) return Math.min(beforeId - 1, newest);
    return untilMs === undefined ? newest : lastIdBefore(untilMs, newest, (id) => this.timeAt(table, id));
  }

  /** When the first rows from this id on were written, the earliest of them; infinity where there is none. */
  timeAt(table: RowSearch["table"], id: number): number {
    const query = this.#database.query<{ atMs: number | null }, [number]>(
      `SELECT min(at_ms) AS atMs FROM (SELECT at_ms FROM ${table} WHERE id >= ? ORDER BY id LIMIT ${rowsThatTell})`,
    );
    return query.get(id)?.atMs ?? Number.POSITIVE_INFINITY;
  }

  /** When the last rows before this id were written, the latest of them. */
  #timeBefore(table: RowSearch["table"], id: number): number {
    const query = this.#database.query<{ atMs: number | null }, [number]>(
      `SELECT max(at_ms) AS atMs FROM (
        SELECT at_ms FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT ${rowsThatTell})`,
    );
    return query.get(id)?.atMs ?? Number.NEGATIVE_INFINITY;
  }

  newest(table: RowSearch["table"]): number {
    const query = this.#database.query<{ id: number | null }, []>(`SELECT max(id) AS id FROM ${table}`);
    return query.get()?.id ?? 0;
  }
}

export function keyCondition(keyId: string | undefined, parameters: Parameters): string {
  if (keyId === undefined) return "";
  parameters["keyId"] = keyId;
  return "AND key_no = (SELECT no FROM keys WHERE id = $keyId)";
}
