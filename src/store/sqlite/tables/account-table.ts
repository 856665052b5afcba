import type { Database } from "bun:sqlite";
import {
  type AccountRow,
  accountFromRow,
  accountValues,
  type NumberedAccount,
  selectAccounts,
  unknownAccount,
} from "../../account-row.ts";
import type { AccountChanges, AccountRecord, CapLimit } from "../../records.ts";
import { StoreRefusal } from "../../store.ts";
import { sqliteText } from "../queries.ts";
import type { CapTable, NumberedOwner } from "./cap-table.ts";
import type { Revision } from "./revision.ts";

/** Reads and writes accounts. What changes one runs inside the caller's transaction. */
export class AccountTable {
  readonly #database: Database;
  readonly #revision: Revision;
  readonly #caps: CapTable;

  constructor(database: Database, revision: Revision, caps: CapTable) {
    this.#database = database;
    this.#revision = revision;
    this.#caps = caps;
  }

  all(): readonly AccountRecord[] {
    return this.#database.query<AccountRow, []>(`${select} ORDER BY accounts.no`).all().map(accountOf);
  }

  changedSince(revision: number): readonly AccountRecord[] {
    return this.#database
      .query<AccountRow, [number]>(`${select} WHERE account_revision > ? ORDER BY accounts.no`)
      .all(revision)
      .map(accountOf);
  }

  byId(id: string): NumberedAccount | null {
    const row = this.#database.query<AccountRow, [string]>(`${select} WHERE accounts.id = ?`).get(id);
    return row === null ? null : accountFromRow(row);
  }

  /** Throws a refusal when there is no such account. */
  require(id: string): NumberedAccount {
    const found = this.byId(id);
    if (found === null) throw unknownAccount(id);
    return found;
  }

  /** Under a number that no key has, or will have. */
  insertShared(account: AccountRecord): number {
    const taken = this.#database
      .query<{ seq: number }, []>(
        "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'keys' RETURNING seq",
      )
      .get();
    const no = taken?.seq ?? 1;
    this.insert(no, account);
    return no;
  }

  insert(no: number, account: AccountRecord): void {
    this.#database
      .query(insertAccount)
      .run(
        no,
        account.id,
        account.mode,
        floorOf(account),
        account.createdAtMs,
        this.#revision.raise(),
        ...accountValues(account),
      );
    this.#caps.set({ column: "account_no", no, countedAtMs: 0 }, [], account.caps, account.createdAtMs);
  }

  update(id: string, changes: AccountChanges): AccountRecord {
    const { no, account } = this.require(id);
    const changed = { ...account, ...changes };
    const owes = this.#database.query<{ posted: number }, [number]>(
      "SELECT posted FROM accounts WHERE no = ?",
    );
    if (account.isOpen && !changed.isOpen && (owes.get(no)?.posted ?? 0) < 0) {
      throw new StoreRefusal("invalid_amount", `The account ${id} owes something. Top it up first.`);
    }
    const revision = this.#revision.raise();
    this.#database.query(updateAccount).run(floorOf(changed), revision, ...accountValues(changed), no);
    // What they show of their account has changed.
    this.#database.query("UPDATE keys SET revision = ? WHERE account_no = ?").run(revision, no);
    return changed;
  }

  setCaps(id: string, caps: readonly CapLimit[], nowMs: number): void {
    const { no, account } = this.require(id);
    this.#caps.set(this.#owner(no), account.caps, caps, nowMs);
    this.#touch(no);
  }

  extendCap(id: string, capNo: number, amount: number, nowMs: number): void {
    const { no } = this.require(id);
    this.#caps.extend(this.#owner(no), capNo, amount, nowMs);
    this.#touch(no);
  }

  /** When it has counted last. */
  countedAtMs(no: number): number {
    const query = this.#database.query<{ atMs: number }, [number]>(
      "SELECT counted_at_ms AS atMs FROM accounts WHERE no = ?",
    );
    return query.get(no)?.atMs ?? 0;
  }

  #owner(no: number): NumberedOwner {
    return { column: "account_no", no, countedAtMs: this.countedAtMs(no) };
  }

  #touch(no: number): void {
    this.#database
      .query("UPDATE accounts SET account_revision = ? WHERE no = ?")
      .run(this.#revision.raise(), no);
  }
}

/** What `posted` may not go below. */
function floorOf({ mode, isOpen }: AccountRecord): number {
  return mode === "credit" && !isOpen ? 0 : Number.MIN_SAFE_INTEGER;
}

function accountOf(row: AccountRow): AccountRecord {
  return accountFromRow(row).account;
}

const select = sqliteText(selectAccounts);
const changeable = "account_label, is_open, closed_at_ms, budget_tokens, period, key_caps";

const insertAccount = `
INSERT INTO accounts (no, id, mode, floor, created_at_ms, account_revision, ${changeable})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const updateAccount = `
UPDATE accounts SET (floor, account_revision, ${changeable}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE no = ?`;
