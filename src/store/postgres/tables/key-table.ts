import { assert } from "../../../base/assert.ts";
import { checkJoin } from "../../account-row.ts";
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
  selectKeys as select,
} from "../../key-row.ts";
import { ownAccountOf } from "../../own-account.ts";
import type { CapRecord, KeyChanges, KeyRecord } from "../../records.ts";
import { type CapOwner, StoreRefusal } from "../../store.ts";
import type { Query } from "../client.ts";
import { accountById, insertAccount, requireAccount, touchAccount, updateAccount } from "./account-table.ts";
import { type NumberedOwner, setCaps } from "./cap-table.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

export async function allKeys(query: Query): Promise<KeyRecord[]> {
  return (await query<KeyRow>(`${select} ORDER BY keys.no`)).map((row) => keyFromRow(row).key);
}

export async function keysOfAccounts(query: Query, accountNos: readonly number[]): Promise<NumberedKey[]> {
  const where = "WHERE keys.account_no = ANY ($1::text[]::int[]) ORDER BY keys.no";
  return (await query<KeyRow>(`${select} ${where}`, [accountNos.map(String)])).map(keyFromRow);
}

export async function keysById(query: Query, ids: readonly string[]): Promise<NumberedKey[]> {
  return (await query<KeyRow>(`${select} WHERE keys.id = ANY ($1::text[])`, [[...ids]])).map(keyFromRow);
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

/** Throws a refusal when there is no such key. */
export async function requireKey(query: Query, id: string): Promise<NumberedKey> {
  const found = await keyById(query, id);
  if (found === null) throw new StoreRefusal("unknown_key", `There is no key ${id}.`);
  return found;
}

/**
 * It draws on the account that it names; if there is none, it gets one of its own, with its number, as in SQLite. Inside the
 * caller's transaction.
 */
export async function insertKey(query: Query, key: KeyRecord): Promise<void> {
  await lockRevision(query);
  const account = await accountById(query, key.accountId);
  if (account !== null) checkJoin(account.account, key.mode);
  const accountNo = account?.no ?? (await insertAccount(query, ownAccountOf(key)));
  const revision = await raiseRevision(query);
  const no = account === null ? "$1::int" : "nextval(pg_get_serial_sequence('keys', 'no'))";
  const [row] = await query<{ no: number }>(
    `INSERT INTO keys (no, account_no, id, created_at_ms, revision, ${ofKey}) OVERRIDING SYSTEM VALUE
    VALUES (${no}, $1::int, $2, $3::int8, $4::int8, ${places(keyColumns, 5)}) RETURNING no`,
    [accountNo, key.id, key.createdAtMs, revision, ...columnValues(keyColumns, key)],
  );
  assert(row !== undefined, "a new key has a number");
  await query("INSERT INTO key_sums (key_no) VALUES ($1::int)", [row.no]);
  const owner = { column: "key_no", no: row.no, accountNo } as const;
  await setCaps(query, owner, [], key.caps, key.createdAtMs);
}

/** Inside the caller's transaction. */
export async function updateKey(query: Query, id: string, changes: KeyChanges): Promise<KeyRecord> {
  await lockRevision(query);
  const { no, key } = await requireKey(query, id);
  const changed = changedKey(key, changes);
  await query(
    `UPDATE keys SET (revision, ${ofKey}) = ($2::int8, ${places(keyColumns, 3)}) WHERE no = $1::int`,
    [no, await raiseRevision(query), ...columnValues(keyColumns, changed)],
  );
  if (accountTerms.some(({ field }) => changed[field] !== key[field])) {
    const { budgetTokens, period } = changed;
    await updateAccount(query, key.accountId, { budgetTokens, period });
  }
  return changed;
}

/** Inside the caller's transaction. */
export async function moveKey(query: Query, id: string, accountId: string): Promise<KeyRecord> {
  await lockRevision(query);
  const { no, accountNo: before, key } = await requireKey(query, id);
  const { no: accountNo, account } = await requireAccount(query, accountId);
  checkJoin(account, key.mode);
  // A batch that is deciding about this key has its account locked.
  await query("SELECT 1 FROM accounts WHERE no = $1::int FOR NO KEY UPDATE", [before]);
  const revision = await raiseRevision(query);
  await query("UPDATE keys SET account_no = $1::int, revision = $2::int8 WHERE no = $3::int", [
    accountNo,
    revision,
    no,
  ]);
  return (await requireKey(query, id)).key;
}

/** Inside the caller's transaction. */
export async function changeCaps(
  query: Query,
  owner: CapOwner,
  change: (numbered: NumberedOwner, caps: readonly CapRecord[]) => Promise<void>,
): Promise<void> {
  await lockRevision(query);
  if ("keyId" in owner) {
    const { no, accountNo, key } = await requireKey(query, owner.keyId);
    await change({ column: "key_no", no, accountNo }, key.caps);
    const revision = await raiseRevision(query);
    await query("UPDATE keys SET revision = $1::int8 WHERE no = $2::int", [revision, no]);
    return;
  }
  const { no, account } = await requireAccount(query, owner.accountId);
  await change({ column: "account_no", no, accountNo: no }, account.caps);
  await touchAccount(query, no);
}

/** Parameters for the columns' values, the first of them with this number. */
function places(columns: readonly KeyColumn[], first: number): string {
  const typed = columns.map(({ type }, index) => `$${first + index}::${type === "json" ? "text" : type}`);
  return typed.join(", ");
}

const ofKey = columnNames(keyColumns);
