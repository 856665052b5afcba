import { msPerMinute } from "../../base/clock.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import { Parameters, type Query } from "../query.ts";
import type { Entry } from "../records.ts";
import type { CursorPage, EntrySearch } from "../reports.ts";

export type SearchedTable = "entries" | "exchange_endings";

export interface RowSearch {
  /** Columns and tables. */
  readonly select: string;
  readonly table: SearchedTable;
  readonly conditions: readonly string[];
  readonly parameters: Parameters;
  readonly beforeId?: number | undefined;
  readonly limit: number;
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** How far the order of rows, which is the order of writing, can deviate from the order of their end times. */
const disorderMs = msPerMinute;
/** Trust the order after this many consecutive rows; a single row may have been written with a wrong clock. */
const rowsToTrust = 32;
/** Rows that one statement examines. */
export const rowsPerPiece = 50_000;
/** A search for something rare stops after this and returns a cursor to continue from. */
const searchMs = 500;
/** The first range before a time that is searched for rows. Each further one is eight times as long. */
const firstLookBackMs = msPerMinute;

/** Entries, newest first. */
export async function searchEntries(read: Query, search: EntrySearch): Promise<CursorPage<Entry, number>> {
  const { beforeId, limit, keyId, accountId, kind } = search;
  const parameters = new Parameters();
  const conditions: string[] = [];
  if (keyId !== undefined) conditions.push(`entries.${ofKey(keyId, parameters)}`);
  if (accountId !== undefined) conditions.push(ofAccount(accountId, parameters));
  if (kind !== undefined) conditions.push(`entries.kind = ${parameters.add(kind)}`);
  const { rows, next } = await searchRows<EntryRow>(
    read,
    { select: selectEntries, table: "entries", conditions, parameters, beforeId, limit },
    (row) => row.id,
  );
  return { rows: rows.map(entryOf), next };
}

/**
 * Scans entries or request-log rows piece by piece, newest first, and stops early if matches are rare. There is no
 * index on models or providers, because each would make every charge more expensive for the sake of rare searches.
 */
export async function searchRows<Row>(
  read: Query,
  search: RowSearch,
  idOf: (row: Row) => number,
): Promise<CursorPage<Row, number>> {
  const { select, table, conditions, parameters, limit, sinceMs } = search;
  const own = parameters.all.length;
  const bounds = `${table}.id BETWEEN $${own + 1}::int8 AND $${own + 2}::int8`;
  const text = `${select} WHERE ${[bounds, ...conditions].join(" AND ")}
    ORDER BY ${table}.id DESC LIMIT $${own + 3}::int8`;
  const stopAtMs = performance.now() + searchMs;
  const rows: Row[] = [];
  for (let to = await newestOf(read, search); to > 0; to -= rowsPerPiece) {
    const from = to - rowsPerPiece + 1;
    rows.push(...(await read<Row>(text, [...parameters.all, from, to, limit - rows.length])));
    const last = rows.at(-1);
    if (rows.length >= limit && last !== undefined) return { rows, next: idOf(last) };
    if (sinceMs !== undefined && (await timeBefore(read, table, from)) < sinceMs - disorderMs) break;
    if (performance.now() > stopAtMs) return { rows, next: from > 1 ? from : null };
  }
  return { rows, next: null };
}

async function newestOf(read: Query, { table, beforeId, untilMs }: RowSearch): Promise<number> {
  const newest = await newestId(read, table);
  if (beforeId !== undefined) return Math.min(beforeId - 1, newest);
  return untilMs === undefined ? newest : lastIdBefore(read, table, untilMs);
}

/**
 * The highest id among the last rows before a time. PostgreSQL's index on times finds rows of a given time, not the
 * next earlier one, so increasingly early ranges are searched.
 */
async function lastIdBefore(read: Query, table: SearchedTable, untilMs: number): Promise<number> {
  for (let backMs = firstLookBackMs; ; backMs *= 8) {
    const [row] = await read<{ id: number | null }>(
      `SELECT max(id)::float8 AS id FROM (
        SELECT id FROM ${table} WHERE at_ms >= $1::int8 AND at_ms < $2::int8 ORDER BY at_ms DESC LIMIT 1000) last`,
      [untilMs - backMs, untilMs],
    );
    if (row?.id != null) return row.id;
    if (backMs > untilMs) return 0;
  }
}

/** The earliest time of the first rows from this id on; infinity if there are none. */
export async function timeAt(read: Query, table: SearchedTable, id: number): Promise<number> {
  const [row] = await read<{ atMs: number | null }>(
    `SELECT min(at_ms)::float8 AS "atMs" FROM (
      SELECT at_ms FROM ${table} WHERE id >= $1::int8 ORDER BY id LIMIT ${rowsToTrust}) first`,
    [id],
  );
  return row?.atMs ?? Number.POSITIVE_INFINITY;
}

/** The latest time of the last rows before this id. */
async function timeBefore(read: Query, table: SearchedTable, id: number): Promise<number> {
  const [row] = await read<{ atMs: number | null }>(
    `SELECT max(at_ms)::float8 AS "atMs" FROM (
      SELECT at_ms FROM ${table} WHERE id < $1::int8 ORDER BY id DESC LIMIT ${rowsToTrust}) last`,
    [id],
  );
  return row?.atMs ?? Number.NEGATIVE_INFINITY;
}

export async function newestId(read: Query, table: SearchedTable): Promise<number> {
  const [row] = await read<{ id: number | null }>(`SELECT max(id)::float8 AS id FROM ${table}`);
  return row?.id ?? 0;
}

export function ofKey(keyId: string, parameters: Parameters): string {
  return `key_no = (SELECT no FROM keys WHERE id = ${parameters.add(keyId)})`;
}

/** In SQLite an entry of a key's own account has no account number: it equals the key's number. */
export function ofAccount(accountId: string, parameters: Parameters): string {
  const no = `(SELECT no FROM accounts WHERE id = ${parameters.add(accountId)})`;
  return `coalesce(entries.account_no, entries.key_no) = ${no}`;
}
