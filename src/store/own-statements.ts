import type { Work } from "./query.ts";
import type { AccountRecord, CapLimit, Entry } from "./records.ts";
import type { WrittenRow } from "./tables/rows.ts";

/** The owner of caps by its number, and its account. */
export interface NumberedOwner {
  readonly column: "key_no" | "account_no";
  readonly no: number;
  readonly accountNo: number;
}

/** The use of one value that a cap has counted. */
export interface NewCapValue {
  readonly no: number;
  readonly value: string;
  readonly startMs: number;
  readonly used: number;
  /** JSON, as `base/money/later-use.ts` reads it; null for nothing. */
  readonly later: string | null;
  readonly held: number;
}

/** An entry that is not the charge of a request. */
export interface PlainEntry {
  readonly kind: "topup" | "adjustment" | "overrun";
  readonly amount: number;
  readonly atMs: number;
  readonly reference: string | null;
  readonly note: string | null;
}

/** An entry with its number and its hash, to be inserted in the same transaction. */
export interface ChainedEntry<Kind = PlainEntry["kind"]> extends PlainEntry {
  readonly kind: PlainEntry["kind"] & Kind;
  readonly id: number;
  readonly hash: string;
}

/** Statements about keys and accounts that differ between databases. They run inside the caller's transaction. */
export interface OwnStatements {
  /** A number that no key or account has had before: they are numbered together. */
  nextNo(): Work<number>;
  /** Columns of `accounts` that only this database has. */
  accountColumns(account: AccountRecord): WrittenRow;
  /** A new cap also counts what its current period used before it existed. */
  insertCap(owner: NumberedOwner, cap: CapLimit, nowMs: number): Work<void>;
  /**
   * Prevents all gateways from holding or charging until the transaction ends. Must follow `lockRevision`, and precede
   * other locks.
   */
  lockMoney(): Work<void>;
  /** Reserved amounts of open holds, by value of a cap, in the period that begins at `startMs`. */
  heldValues(
    capNo: number,
    period: string,
    startMs: number,
  ): Work<readonly { readonly value: string; readonly amount: number }[]>;
  /** A condition over `cap_values` that begins with AND: nothing is reserved. */
  readonly isUnheld: string;
  insertCapValue(row: NewCapValue): Work<void>;
  /** Recomputes what is reserved on these accounts, and on the caps of these accounts and keys. */
  recountHolds(accounts: readonly number[], keys: readonly number[]): Work<void>;
  /** The time that determines periods: the given one, or the database's own. */
  readonly selectNow: string;
  /** A condition over `exchange_endings`: rows that retention can delete. */
  readonly mayPrune: string;
  /** Notes the newest row of `exchange_endings` that was deleted. */
  pruned(throughId: number): Work<void>;
  entryByReference(accountNo: number, reference: string): Work<Entry | null>;
  /** Must be used in the same transaction, after the account was locked. */
  nextEntryId(): Work<number>;
  /** Also adds the entry to the account's totals. `keyNo` is 0 for entries of the account alone. */
  insertEntry(
    entry: ChainedEntry<"topup" | "adjustment">,
    numbers: { readonly accountNo: number; readonly keyNo: number },
    revision: number,
  ): Work<void>;
}
