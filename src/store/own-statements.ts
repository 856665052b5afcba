import type { Work } from "./query.ts";
import type { AccountRecord, CapLimit, Entry } from "./records.ts";
import type { OperatorEntry } from "./store.ts";
import type { WrittenRow } from "./tables/rows.ts";

/** Whose caps they are, by its number, and the account that it draws on. */
export interface NumberedOwner {
  readonly column: "key_no" | "account_no";
  readonly no: number;
  readonly accountNo: number;
}

/** What each database writes in its own way about keys and accounts. It runs inside the caller's transaction. */
export interface OwnStatements {
  /** A number that no key or account has had before: they are numbered together. */
  nextNo(): Work<number>;
  /** Columns of `accounts` that only this database has. */
  accountColumns(account: AccountRecord): WrittenRow;
  /** A new cap counts what was taken in its running period before. */
  insertCap(owner: NumberedOwner, cap: CapLimit, nowMs: number): Work<void>;
  /** Adds up again what these accounts, and the caps of these accounts and keys, hold. */
  recountHolds(accounts: readonly number[], keys: readonly number[]): Work<void>;
  /** The moment that decides about periods: the one that is asked with, or the database's own. */
  readonly selectNow: string;
  entryByReference(accountNo: number, reference: string): Work<Entry | null>;
  /** Adds the entry to the account's sums too, and returns its id. `keyNo` is 0 where it concerns the account alone. */
  insertEntry(
    kind: "topup" | "adjustment",
    entry: OperatorEntry,
    numbers: { readonly accountNo: number; readonly keyNo: number },
    revision: number,
  ): Work<number>;
}
