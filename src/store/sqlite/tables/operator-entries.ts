import type { Database } from "bun:sqlite";

import { checkOperatorEntry, operatorEntryOf, repeatedEntry } from "../../operator-entry.ts";
import type { AccountRecord, Entry } from "../../records.ts";
import type { OperatorEntry, RecordedEntry } from "../../store.ts";
import { otherAccount } from "./account-number.ts";
import type { AccountTable } from "./account-table.ts";
import type { EntryTable } from "./entry-table.ts";
import type { KeyTable } from "./key-table.ts";
import type { Revision } from "./revision.ts";

interface Target {
  /** 0 where it concerns the account alone. */
  readonly keyNo: number;
  readonly accountNo: number;
  readonly account: AccountRecord;
  readonly name: string;
}

/** Top-ups and adjustments. Everything here runs inside the caller's transaction. */
export class OperatorEntries {
  readonly #database: Database;
  readonly #keys: KeyTable;
  readonly #accounts: AccountTable;
  readonly #entries: EntryTable;
  readonly #revision: Revision;

  constructor(
    database: Database,
    keys: KeyTable,
    accounts: AccountTable,
    entries: EntryTable,
    revision: Revision,
  ) {
    this.#database = database;
    this.#keys = keys;
    this.#accounts = accounts;
    this.#entries = entries;
    this.#revision = revision;
  }

  record(kind: "topup" | "adjustment", entry: OperatorEntry): RecordedEntry {
    const target = this.#target(entry);
    const { accountNo } = target;
    const earlier = entry.reference === null ? null : this.#entries.byReference(accountNo, entry.reference);
    if (earlier !== null) return repeatedEntry(earlier, kind, entry);
    checkOperatorEntry(kind, entry, target.account, target.name, this.#entries.totals(accountNo));
    return { entry: this.#insert(kind, entry, target), repeated: false };
  }

  #target({ keyId, accountId }: OperatorEntry): Target {
    const key = keyId === null ? null : this.#keys.require(keyId);
    const { no, account } = this.#accounts.require(key?.key.accountId ?? accountId ?? "");
    return { keyNo: key?.no ?? 0, accountNo: no, account, name: key?.key.prefix ?? account.id };
  }

  #insert(kind: "topup" | "adjustment", entry: OperatorEntry, target: Target): Entry {
    const { keyNo, accountNo, account } = target;
    const { lastInsertRowid } = this.#database
      .query(insertEntry)
      .run(
        keyNo,
        otherAccount(keyNo, accountNo),
        kind,
        entry.amountNano,
        entry.atMs,
        entry.reference,
        entry.note,
        this.#revision.raise(),
      );
    this.#database.query(creditAccount).run(entry.amountNano, accountNo);
    return operatorEntryOf(Number(lastInsertRowid), kind, entry, account.id);
  }
}

const insertEntry = `
INSERT INTO entries (key_no, account_no, kind, amount, at_ms, reference, note, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const creditAccount = "UPDATE accounts SET posted = posted + ?1, purchased = purchased + ?1 WHERE no = ?2";
