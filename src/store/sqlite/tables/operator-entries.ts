import type { Database } from "bun:sqlite";
import type { NumberedKey } from "../../key-row.ts";
import { checkOperatorEntry, operatorEntryOf, repeatedEntry } from "../../operator-entry.ts";
import type { Entry } from "../../records.ts";
import type { OperatorEntry, RecordedEntry } from "../../store.ts";
import { otherAccount } from "./account-number.ts";
import type { EntryTable } from "./entry-table.ts";
import type { KeyTable } from "./key-table.ts";
import type { Revision } from "./revision.ts";

/** Top-ups and adjustments. Everything here runs inside the caller's transaction. */
export class OperatorEntries {
  readonly #database: Database;
  readonly #keys: KeyTable;
  readonly #entries: EntryTable;
  readonly #revision: Revision;

  constructor(database: Database, keys: KeyTable, entries: EntryTable, revision: Revision) {
    this.#database = database;
    this.#keys = keys;
    this.#entries = entries;
    this.#revision = revision;
  }

  record(kind: "topup" | "adjustment", entry: OperatorEntry): RecordedEntry {
    const target = this.#keys.require(entry.keyId);
    const earlier = entry.reference === null ? null : this.#entries.byReference(target.no, entry.reference);
    if (earlier !== null) return repeatedEntry(earlier, kind, entry);
    checkOperatorEntry(kind, entry, target.key, this.#entries.totals(target.accountNo));
    return { entry: this.#insert(kind, entry, target), repeated: false };
  }

  #insert(kind: "topup" | "adjustment", entry: OperatorEntry, target: NumberedKey): Entry {
    const { no: keyNo, accountNo, key } = target;
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
    return operatorEntryOf(Number(lastInsertRowid), kind, entry, key);
  }
}

const insertEntry = `
INSERT INTO entries (key_no, account_no, kind, amount, at_ms, reference, note, revision)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;

const creditAccount = "UPDATE accounts SET posted = posted + ?1, purchased = purchased + ?1 WHERE no = ?2";
