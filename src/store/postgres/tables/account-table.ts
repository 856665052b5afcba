import { assert } from "../../../base/assert.ts";
import {
  type AccountRow,
  accountFromRow,
  accountValues,
  type NumberedAccount,
  selectAccounts as select,
  unknownAccount,
} from "../../account-row.ts";
import type { AccountChanges, AccountRecord } from "../../records.ts";
import { StoreRefusal } from "../../store.ts";
import type { Query } from "../client.ts";
import { setCaps } from "./cap-table.ts";
import { lockRevision, raiseRevision } from "./revision.ts";

export async function allAccounts(query: Query): Promise<AccountRecord[]> {
  return (await query<AccountRow>(`${select} ORDER BY accounts.no`)).map(accountOf);
}

export async function accountsChangedSince(query: Query, revision: number): Promise<AccountRecord[]> {
  const where = "WHERE account_revision > $1::int8 ORDER BY accounts.no";
  return (await query<AccountRow>(`${select} ${where}`, [revision])).map(accountOf);
}

export async function accountById(query: Query, id: string): Promise<NumberedAccount | null> {
  const [found] = await accountsById(query, [id]);
  return found ?? null;
}

export async function accountsById(query: Query, ids: readonly string[]): Promise<NumberedAccount[]> {
  const rows = await query<AccountRow>(`${select} WHERE accounts.id = ANY ($1::text[])`, [[...ids]]);
  return rows.map(accountFromRow);
}

/** Throws a refusal when there is no such account. */
export async function requireAccount(query: Query, id: string): Promise<NumberedAccount> {
  const found = await accountById(query, id);
  if (found === null) throw unknownAccount(id);
  return found;
}

/** Numbered together with keys, as in SQLite. Inside the caller's transaction. */
export async function insertAccount(query: Query, account: AccountRecord): Promise<number> {
  const revision = await raiseRevision(query);
  const [row] = await query<{ no: number }>(
    `INSERT INTO accounts (no, id, mode, created_at_ms, account_revision, ${changeable}) OVERRIDING SYSTEM VALUE
    VALUES (nextval(pg_get_serial_sequence('keys', 'no')), $1, $2, $3::int8, $4::int8, ${places(5)}) RETURNING no`,
    [account.id, account.mode, account.createdAtMs, revision, ...accountValues(account)],
  );
  assert(row !== undefined, "a new account has a number");
  const owner = { column: "account_no", no: row.no, accountNo: row.no } as const;
  await setCaps(query, owner, [], account.caps, account.createdAtMs);
  return row.no;
}

/** Inside the caller's transaction. */
export async function updateAccount(
  query: Query,
  id: string,
  changes: AccountChanges,
): Promise<AccountRecord> {
  await lockRevision(query);
  const { no, account } = await requireAccount(query, id);
  const changed = { ...account, ...changes };
  const [row] = await query<{ owes: boolean }>(
    "SELECT posted < 0 AS owes FROM accounts WHERE no = $1::int FOR NO KEY UPDATE",
    [no],
  );
  if (account.isOpen && !changed.isOpen && row?.owes === true) {
    throw new StoreRefusal("invalid_amount", `The account ${id} owes something. Top it up first.`);
  }
  const revision = await raiseRevision(query);
  await query(
    `UPDATE accounts SET (account_revision, ${changeable}) = ($2::int8, ${places(3)}) WHERE no = $1::int`,
    [no, revision, ...accountValues(changed)],
  );
  // What they show of their account has changed.
  await query("UPDATE keys SET revision = $1::int8 WHERE account_no = $2::int", [revision, no]);
  return changed;
}

export async function touchAccount(query: Query, no: number): Promise<void> {
  const revision = await raiseRevision(query);
  await query("UPDATE accounts SET account_revision = $1::int8 WHERE no = $2::int", [revision, no]);
}

function accountOf(row: AccountRow): AccountRecord {
  return accountFromRow(row).account;
}

const changeable = "account_label, is_open, closed_at_ms, budget_tokens, period, key_caps";

/** For `accountValues`, the first of them with this number. */
function places(first: number): string {
  return ["text", "int", "int8", "int8", "text", "text"]
    .map((type, index) => `$${first + index}::${type}`)
    .join(", ");
}
