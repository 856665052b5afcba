import { assert } from "../../../base/assert.ts";
import { changedKey } from "../../changed-key.ts";
import {
  accountTerms,
  columnNames,
  columnValues,
  type KeyColumn,
  type KeyRow,
  keyColumns,
  keyFromRow,
  type NumberedKey,
  selectKeys,
} from "../../key-row.ts";
import type { KeyChanges, KeyRecord } from "../../records.ts";
import { type KeyPage, type KeyQuery, StoreRefusal } from "../../store.ts";
import type { Query } from "../client.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

export async function allKeys(query: Query): Promise<KeyRecord[]> {
  return (await query<KeyRow>(`${select} ORDER BY keys.no`)).map((row) => keyFromRow(row).key);
}

export async function keysChangedSince(query: Query, revision: number): Promise<KeyRecord[]> {
  const rows = await query<KeyRow>(`${select} WHERE revision > $1::int8 ORDER BY keys.no`, [revision]);
  return rows.map((row) => keyFromRow(row).key);
}

export async function keyByHash(query: Query, hash: string, nowMs: number): Promise<KeyRecord | null> {
  const where = "WHERE hash = $1 OR (previous_hash = $1 AND previous_until_ms > $2::int8)";
  const [row] = await query<KeyRow>(`${select} ${where}`, [hash, nowMs]);
  return row === undefined ? null : keyFromRow(row).key;
}

export async function keyById(query: Query, id: string): Promise<NumberedKey | null> {
  const [row] = await query<KeyRow>(`${select} WHERE keys.id = $1`, [id]);
  return row === undefined ? null : keyFromRow(row);
}

export async function keyByIdOrPrefix(query: Query, idOrPrefix: string): Promise<KeyRecord | null> {
  const where = "WHERE keys.id = $1 OR prefix = $1 OR accounts.id = $1 LIMIT 2";
  const rows = await query<KeyRow>(`${select} ${where}`, [idOrPrefix]);
  const [row] = rows;
  return row === undefined || rows.length > 1 ? null : keyFromRow(row).key;
}

/** Throws a refusal when there is no such key. */
export async function requireKey(query: Query, id: string): Promise<NumberedKey> {
  const found = await keyById(query, id);
  if (found === null) throw new StoreRefusal("unknown_key", `There is no key ${id}.`);
  return found;
}

export async function listKeys(query: Query, options: KeyQuery): Promise<KeyPage> {
  const { search = "", limit, cursor = "0" } = options;
  const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
  const rows = await query<KeyRow>(
    `${select}
    WHERE keys.no > $1::int AND ($2 = '' OR label ILIKE $3 OR keys.id ILIKE $4 OR prefix ILIKE $4)
    ORDER BY keys.no LIMIT $5::int`,
    [Number(cursor), search, pattern, pattern.slice(1), limit + 1],
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    keys: page.map((row) => keyFromRow(row).key),
    nextCursor: rows.length > limit && last !== undefined ? String(last.no) : null,
  };
}

/** With an account of its own, which has the same number, as in SQLite. Inside the caller's transaction. */
export async function insertKey(query: Query, key: KeyRecord): Promise<void> {
  const revision = await raiseRevision(query);
  const [account] = await query<{ no: number }>(
    `INSERT INTO accounts (no, id, mode, created_at_ms, ${ofAccount}) OVERRIDING SYSTEM VALUE
    VALUES (nextval(pg_get_serial_sequence('keys', 'no')), $1, $2, $3::int8, ${places(accountTerms, 4)}) RETURNING no`,
    [key.accountId, key.mode, key.createdAtMs, ...columnValues(accountTerms, key)],
  );
  assert(account !== undefined, "a new account has a number");
  await query(
    `INSERT INTO keys (no, account_no, id, created_at_ms, revision, ${ofKey}) OVERRIDING SYSTEM VALUE
    VALUES ($1::int, $1::int, $2, $3::int8, $4::int8, ${places(keyColumns, 5)})`,
    [account.no, key.id, key.createdAtMs, revision, ...columnValues(keyColumns, key)],
  );
}

/** Inside the caller's transaction. */
export async function updateKey(query: Query, id: string, changes: KeyChanges): Promise<KeyRecord> {
  await lockRevision(query);
  const { no, accountNo, key } = await requireKey(query, id);
  const changed = changedKey(key, changes);
  await query(
    `UPDATE keys SET (revision, ${ofKey}) = ($2::int8, ${places(keyColumns, 3)}) WHERE no = $1::int`,
    [no, await raiseRevision(query), ...columnValues(keyColumns, changed)],
  );
  if (accountTerms.some(({ field }) => changed[field] !== key[field])) {
    await query(`UPDATE accounts SET (${ofAccount}) = (${places(accountTerms, 2)}) WHERE no = $1::int`, [
      accountNo,
      ...columnValues(accountTerms, changed),
    ]);
  }
  return changed;
}

/** Parameters for the columns' values, the first of them with this number. */
function places(columns: readonly KeyColumn[], first: number): string {
  const typed = columns.map(({ type }, index) => `$${first + index}::${type === "json" ? "text" : type}`);
  return typed.join(", ");
}

const select = selectKeys((column) => `${column}::float8`);
const ofKey = columnNames(keyColumns);
const ofAccount = columnNames(accountTerms);
