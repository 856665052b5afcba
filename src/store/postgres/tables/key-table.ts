import { assert } from "../../../base/assert.ts";
import { changedKey } from "../../changed-key.ts";
import type { KeyChanges, KeyRecord } from "../../records.ts";
import { type KeyPage, type KeyQuery, StoreRefusal } from "../../store.ts";
import type { Query } from "../client.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

interface KeyRow extends Omit<KeyRecord, "models"> {
  readonly no: number;
  readonly accountNo: number;
  readonly models: string | null;
}

/** A key, and the numbers that tables know it and its account by. */
export interface NumberedKey {
  readonly no: number;
  readonly accountNo: number;
  readonly key: KeyRecord;
}

export async function allKeys(query: Query): Promise<KeyRecord[]> {
  return (await query<KeyRow>(`${selectKeys} ORDER BY keys.no`)).map((row) => numbered(row).key);
}

export async function keysChangedSince(query: Query, revision: number): Promise<KeyRecord[]> {
  const rows = await query<KeyRow>(`${selectKeys} WHERE revision > $1::int8 ORDER BY keys.no`, [revision]);
  return rows.map((row) => numbered(row).key);
}

export async function keyByHash(query: Query, hash: string, nowMs: number): Promise<KeyRecord | null> {
  const where = "WHERE hash = $1 OR (previous_hash = $1 AND previous_until_ms > $2::int8)";
  const [row] = await query<KeyRow>(`${selectKeys} ${where}`, [hash, nowMs]);
  return row === undefined ? null : numbered(row).key;
}

export async function keyById(query: Query, id: string): Promise<NumberedKey | null> {
  const [row] = await query<KeyRow>(`${selectKeys} WHERE keys.id = $1`, [id]);
  return row === undefined ? null : numbered(row);
}

export async function keyByIdOrPrefix(query: Query, idOrPrefix: string): Promise<KeyRecord | null> {
  const where = "WHERE keys.id = $1 OR prefix = $1 OR accounts.id = $1 LIMIT 2";
  const rows = await query<KeyRow>(`${selectKeys} ${where}`, [idOrPrefix]);
  const [row] = rows;
  return row === undefined || rows.length > 1 ? null : numbered(row).key;
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
    `${selectKeys}
    WHERE keys.no > $1::int AND ($2 = '' OR label ILIKE $3 OR keys.id ILIKE $4 OR prefix ILIKE $4)
    ORDER BY keys.no LIMIT $5::int`,
    [Number(cursor), search, pattern, pattern.slice(1), limit + 1],
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    keys: page.map((row) => numbered(row).key),
    nextCursor: rows.length > limit && last !== undefined ? String(last.no) : null,
  };
}

/** With an account of its own, which has the same number, as in SQLite. Inside the caller's transaction. */
export async function insertKey(query: Query, key: KeyRecord): Promise<void> {
  const revision = await raiseRevision(query);
  const [account] = await query<{ no: number }>(
    `INSERT INTO accounts (no, id, mode, budget_tokens, period, created_at_ms) OVERRIDING SYSTEM VALUE
    VALUES (nextval(pg_get_serial_sequence('keys', 'no')), $1, $2, $3::int8, $4, $5::int8) RETURNING no`,
    [key.accountId, key.mode, key.budgetTokens, key.period, key.createdAtMs],
  );
  assert(account !== undefined, "a new account has a number");
  await query(
    `INSERT INTO keys (${keyColumns}, id, no, account_no, created_at_ms) OVERRIDING SYSTEM VALUE
    VALUES ($1, $2, $3, $4, $5, $6, $7::int, $8::int8, $9, $10::int8, $11::int8, $12, $13::int, $13::int, $14::int8)`,
    [...valuesOf(key), revision, key.id, account.no, key.createdAtMs],
  );
}

/** Inside the caller's transaction. */
export async function updateKey(query: Query, id: string, changes: KeyChanges): Promise<KeyRecord> {
  await lockRevision(query);
  const { no, accountNo, key } = await requireKey(query, id);
  const changed = changedKey(key, changes);
  await query(
    `UPDATE keys SET (${keyColumns}) =
      ($1, $2, $3, $4, $5, $6, $7::int, $8::int8, $9, $10::int8, $11::int8) WHERE no = $12::int`,
    [...valuesOf(changed), await raiseRevision(query), no],
  );
  if (changed.budgetTokens !== key.budgetTokens || changed.period !== key.period) {
    await query("UPDATE accounts SET budget_tokens = $1::int8, period = $2 WHERE no = $3::int", [
      changed.budgetTokens,
      changed.period,
      accountNo,
    ]);
  }
  return changed;
}

function numbered({ no, accountNo, models, ...rest }: KeyRow): NumberedKey {
  const key = { ...rest, models: models === null ? null : (JSON.parse(models) as string[]) };
  return { no, accountNo, key };
}

function valuesOf(key: KeyRecord) {
  return [
    key.hash,
    key.prefix,
    key.label,
    key.status,
    key.scope,
    key.models === null ? null : JSON.stringify(key.models),
    key.rpmLimit,
    key.expiresAtMs,
    key.previousHash,
    key.previousUntilMs,
  ] as const;
}

const keyColumns = `hash, prefix, label, status, scope, models, rpm_limit, expires_at_ms, previous_hash,
  previous_until_ms, revision`;

const selectKeys = `
SELECT keys.no, keys.account_no AS "accountNo", keys.id, accounts.id AS "accountId", hash, prefix, label, mode, status, scope, models,
  rpm_limit AS "rpmLimit", budget_tokens::float8 AS "budgetTokens", period,
  keys.created_at_ms::float8 AS "createdAtMs", expires_at_ms::float8 AS "expiresAtMs",
  previous_hash AS "previousHash", previous_until_ms::float8 AS "previousUntilMs"
FROM keys JOIN accounts ON accounts.no = keys.account_no`;
