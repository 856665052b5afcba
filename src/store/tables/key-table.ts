import {
  accountTerms,
  type KeyColumn,
  type KeyRow,
  keyColumns,
  keyFromRow,
  type NumberedKey,
  selectKeys,
} from "../key-row.ts";
import type { NumberedOwner, OwnStatements } from "../own-statements.ts";
import { query, type Work } from "../query.ts";
import type { AccountKeys, CapOwner, CapRecord, KeyChanges, KeyRecord } from "../records.ts";
import { StoreError } from "../store.ts";
import {
  accountById,
  checkJoin,
  insertAccount,
  ownAccountOf,
  requireAccount,
  updateAccount,
} from "./account-table.ts";
import { capTotalsOfKeys, lockAccount, setCaps } from "./cap-table.ts";
import { lockRevision, raiseRevision, rejectChanged } from "./revision.ts";
import { insertRow, updateRow, type WrittenRow } from "./rows.ts";

export function* keysChangedSince(revision: number): Work<KeyRecord[]> {
  // The plus sign keeps SQLite from scanning all keys by number: 54 ms with 100,000 keys.
  const where = "WHERE keys.revision > $1::int8 ORDER BY +keys.no";
  const rows = yield* query<KeyRow>(`${selectKeys} ${where}`, [revision]);
  return rows.map((row) => keyFromRow(row).key);
}

/** A page of an account's keys in order of creation, with the usage of their caps. */
export function* keyPageOfAccount(accountNo: number, after: number, limit: number): Work<AccountKeys> {
  const where = "WHERE keys.account_no = $1::int AND keys.no > $2::int ORDER BY keys.no LIMIT $3::int8";
  const rows = yield* query<KeyRow>(`${selectKeys} ${where}`, [accountNo, after, limit]);
  const caps = yield* capTotalsOfKeys(rows.map(({ no }) => no));
  const next = rows.length < limit ? null : (rows.at(-1)?.no ?? null);
  return { keys: rows.map((row) => keyFromRow(row).key), caps, next };
}

/** Throws `unknown_key` if the key does not exist. */
export function* requireKey(id: string): Work<NumberedKey> {
  const [row] = yield* query<KeyRow>(`${selectKeys} WHERE keys.id = $1::text`, [id]);
  if (row === undefined) throw new StoreError("unknown_key", `Key ${id} does not exist.`);
  return keyFromRow(row);
}

/** Bills the key to its account; if that does not exist, it is created with the key's number. */
export function* insertKey(own: OwnStatements, key: KeyRecord, sinceRevision?: number): Work<void> {
  yield* lockRevision();
  yield* rejectChanged(sinceRevision);
  const account = yield* accountById(key.accountId);
  if (account !== null) checkJoin(account.account, key.mode);
  const no = yield* own.nextNo();
  if (account === null) yield* insertAccount(own, no, ownAccountOf(key));
  const accountNo = account?.no ?? no;
  yield* insertRow("keys", {
    no: ["int", no],
    account_no: ["int", accountNo],
    id: ["text", key.id],
    created_at_ms: ["int8", key.createdAtMs],
    revision: ["int8", yield* raiseRevision()],
    ...columnsOf(key),
  });
  yield* query("INSERT INTO key_sums (key_no) VALUES ($1::int)", [no]);
  yield* setCaps(own, { column: "key_no", no, accountNo }, [], key.caps, key.createdAtMs);
}

export function* updateKey(own: OwnStatements, id: string, changes: KeyChanges): Work<KeyRecord> {
  yield* lockRevision();
  const { no, key } = yield* requireKey(id);
  const changed = { ...key, ...changes };
  // The caller read the status before this transaction, and the key may have been revoked since.
  if (key.status === "revoked" && changed.status !== "revoked") {
    throw new StoreError("revoked", `${key.prefix} is permanently revoked. Create a new key.`);
  }
  yield* updateRow("keys", no, { revision: ["int8", yield* raiseRevision()], ...columnsOf(changed) });
  if (accountTerms.some(({ field }) => changed[field] !== key[field])) {
    const { budgetTokens, period } = changed;
    yield* updateAccount(own, key.accountId, { budgetTokens, period });
  }
  return changed;
}

export function* moveKey(id: string, accountId: string, nowMs: number): Work<KeyRecord> {
  yield* lockRevision();
  const { no, accountNo: before, key } = yield* requireKey(id);
  const { no: accountNo, account } = yield* requireAccount(accountId);
  checkJoin(account, key.mode);
  yield* lockAccount(before);
  const revision = yield* raiseRevision();
  yield* insertRow("key_moves", {
    key_no: ["int", no],
    account_no: ["int", before],
    until_ms: ["int8", nowMs],
  });
  yield* updateRow("keys", no, { account_no: ["int", accountNo], revision: ["int8", revision] });
  return (yield* requireKey(id)).key;
}

/** Changes the caps of a key or an account, and raises the revision for the gateways. */
export function* changeCaps(
  owner: CapOwner,
  change: (numbered: NumberedOwner, caps: readonly CapRecord[]) => Work<void>,
): Work<void> {
  yield* lockRevision();
  if ("keyId" in owner) {
    const { no, accountNo, key } = yield* requireKey(owner.keyId);
    yield* change({ column: "key_no", no, accountNo }, key.caps);
    yield* updateRow("keys", no, { revision: ["int8", yield* raiseRevision()] });
    return;
  }
  const { no, account } = yield* requireAccount(owner.accountId);
  yield* change({ column: "account_no", no, accountNo: no }, account.caps);
  yield* updateRow("accounts", no, { account_revision: ["int8", yield* raiseRevision()] });
}

function columnsOf(key: KeyRecord): WrittenRow {
  const columns = keyColumns.map(({ field, column, type }) => {
    return [column, [type === "json" ? "text" : type, storedValue(key[field])]] as const;
  });
  return Object.fromEntries(columns);
}

function storedValue(value: KeyRecord[KeyColumn["field"]]): string | number | null {
  if (typeof value === "boolean") return Number(value);
  return value === null || typeof value !== "object" ? value : JSON.stringify(value);
}
