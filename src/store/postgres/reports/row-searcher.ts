import { type EntryRow, entryOf } from "../../entry-row.ts";
import type { Entry } from "../../records.ts";
import { disorderMs, lastIdBefore, rowsThatTell } from "../../reporting/seek-time.ts";
import type { Cut, EntrySearch } from "../../reports.ts";
import type { Parameter, Query } from "../client.ts";
import { entryColumns } from "../tables/entry-table.ts";

export interface RowSearch {
  /** Columns and tables. */
  readonly select: string;
  readonly table: "entries" | "exchange_endings";
  readonly conditions: Conditions;
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Conditions with their parameters. The first three belong to the search itself. */
export class Conditions {
  readonly parameters: Parameter[] = [];
  readonly #all: string[] = [];

  /** Each `$` stands for the next parameter. */
  add(condition: string, ...parameters: readonly Parameter[]): void {
    let number = this.parameters.length + 4;
    this.#all.push(condition.replaceAll("$", () => `$${number++}`));
    this.parameters.push(...parameters);
  }

  get sql(): string {
    return this.#all.map((condition) => ` AND ${condition}`).join("");
  }
}

/** Ids examined per statement: some ten milliseconds when none of them matches. */
const idsPerPiece = 50_000;
/** A search for something rare stops here and returns a cursor to continue from. */
const searchMs = 500;

/** Entries, newest first. */
export async function searchEntries(query: Query, asked: EntrySearch): Promise<Cut<Entry, number>> {
  const { beforeId, limit, keyId, kind } = asked;
  const conditions = new Conditions();
  if (keyId !== undefined) addKey(conditions, "entries", keyId);
  if (kind !== undefined) conditions.add("kind = $", kind);
  const { rows, next } = await searchRows<EntryRow>(
    query,
    { select: selectEntry, table: "entries", conditions, beforeId, limit },
    (row) => row.id,
  );
  return { rows: rows.map(entryOf), next };
}

/** Scans entries or endings piece by piece, newest first, and stops early if what it looks for is rare. */
export async function searchRows<Row>(
  query: Query,
  search: RowSearch,
  idOf: (row: Row) => number,
): Promise<Cut<Row, number>> {
  const { select, table, conditions, limit, sinceMs } = search;
  const text = `${select} WHERE ${table}.id BETWEEN $1::int8 AND $2::int8${conditions.sql}
    ORDER BY ${table}.id DESC LIMIT $3::int`;
  const stopAtMs = performance.now() + searchMs;
  const rows: Row[] = [];
  let to = await newestOf(query, search);
  for (; to > 0; to -= idsPerPiece) {
    const from = to - idsPerPiece + 1;
    rows.push(...(await query<Row>(text, [from, to, limit - rows.length, ...conditions.parameters])));
    const last = rows.at(-1);
    if (rows.length >= limit && last !== undefined) return { rows, next: idOf(last) };
    if (sinceMs !== undefined && (await timeBefore(query, table, from)) < sinceMs - disorderMs) break;
    if (performance.now() > stopAtMs) return { rows, next: from > 1 ? from : null };
  }
  return { rows, next: null };
}

async function newestOf(query: Query, { table, beforeId, untilMs }: RowSearch): Promise<number> {
  const newest = await newestId(query, table);
  if (beforeId !== undefined) return Math.min(beforeId - 1, newest);
  return untilMs === undefined ? newest : lastIdBefore(untilMs, newest, (id) => timeAt(query, table, id));
}

/** When the first rows from this id on were written, the earliest of them; infinity where there is none. */
export async function timeAt(query: Query, table: RowSearch["table"], id: number): Promise<number> {
  const [row] = await query<{ atMs: number | null }>(
    `SELECT min(at_ms)::float8 AS "atMs" FROM (
      SELECT at_ms FROM ${table} WHERE id >= $1::int8 ORDER BY id LIMIT ${rowsThatTell}) first`,
    [id],
  );
  return row?.atMs ?? Number.POSITIVE_INFINITY;
}

/** When the last rows before this id were written, the latest of them. */
async function timeBefore(query: Query, table: RowSearch["table"], id: number): Promise<number> {
  const [row] = await query<{ atMs: number | null }>(
    `SELECT max(at_ms)::float8 AS "atMs" FROM (
      SELECT at_ms FROM ${table} WHERE id < $1::int8 ORDER BY id DESC LIMIT ${rowsThatTell}) last`,
    [id],
  );
  return row?.atMs ?? Number.NEGATIVE_INFINITY;
}

async function newestId(query: Query, table: RowSearch["table"]): Promise<number> {
  const [row] = await query<{ id: number | null }>(`SELECT max(id)::float8 AS id FROM ${table}`);
  return row?.id ?? 0;
}

/** Entries are indexed by account. */
export function addKey(conditions: Conditions, table: RowSearch["table"], keyId: string): void {
  if (table === "entries")
    conditions.add("entries.account_no = (SELECT account_no FROM keys WHERE id = $)", keyId);
  conditions.add(`${table}.key_no = (SELECT no FROM keys WHERE id = $)`, keyId);
}

const selectEntry = `SELECT ${entryColumns} FROM entries JOIN keys ON keys.no = entries.key_no`;
