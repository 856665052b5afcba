import type { Database } from "bun:sqlite";
import { maxCredits, maxLifetimeCredits, nanoPerCredit } from "../../../base/money.ts";
import type { Entry } from "../../records.ts";
import { type OperatorEntry, type RecordedEntry, StoreRefusal } from "../../store.ts";
import type { EntryTable } from "./entry-table.ts";
import type { KeyTable, NumberedKey } from "./key-table.ts";
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
    if (earlier !== null) return repeat(earlier, kind, entry);
    this.#check(kind, entry, target);
    return { entry: this.#insert(kind, entry, target.no), repeated: false };
  }

  #check(kind: "topup" | "adjustment", { amountNano }: OperatorEntry, { no, key }: NumberedKey): void {
    if (key.mode !== "credit") {
      throw new StoreRefusal(
        "wrong_mode",
        `Key ${key.id} has a token budget and no credit. Change its budget instead.`,
      );
    }
    if (!Number.isSafeInteger(amountNano) || amountNano === 0 || (kind === "topup" && amountNano < 0)) {
      throw new StoreRefusal("invalid_amount", "The amount must be a whole number of nano-credits, not 0.");
    }
    const totals = this.#entries.totals(no);
    const posted = totals.posted + amountNano;
    if (posted < 0) {
      throw new StoreRefusal("invalid_amount", "The adjustment would take the balance below 0.");
    }
    if (posted > maxCredits * nanoPerCredit) {
      throw new StoreRefusal("invalid_amount", `A balance may be at most ${maxCredits} credits.`);
    }
    if (totals.purchased + amountNano > maxLifetimeCredits * nanoPerCredit) {
      throw new StoreRefusal(
        "invalid_amount",
        `A key may be given at most ${maxLifetimeCredits} credits in its life. Make a new key for more.`,
      );
    }
  }

  #insert(kind: "topup" | "adjustment", entry: OperatorEntry, keyNo: number): Entry {
    const { lastInsertRowid } = this.#database
      .query(insertEntry)
      .run(keyNo, kind, entry.amountNano, entry.atMs, entry.reference, entry.note, this.#revision.raise());
    this.#database.query(creditAccount).run(entry.amountNano, keyNo);
    return {
      id: Number(lastInsertRowid),
      keyId: entry.keyId,
      kind,
      amount: entry.amountNano,
      atMs: entry.atMs,
      exchangeId: null,
      basis: null,
      outcome: null,
      periodStartMs: 0,
      reference: entry.reference,
      note: entry.note,
    };
  }
}

function repeat(earlier: Entry, kind: Entry["kind"], entry: OperatorEntry): RecordedEntry {
  if (earlier.kind === kind && earlier.amount === entry.amountNano) return { entry: earlier, repeated: true };
  throw new StoreRefusal(
    "reference_conflict",
    `The reference ${entry.reference} was used for another amount on this key. Nothing was changed.`,
  );
}

const insertEntry = `
INSERT INTO entries (key_no, kind, amount, at_ms, reference, note, revision) VALUES (?, ?, ?, ?, ?, ?, ?)`;

const creditAccount =
  "UPDATE accounts SET posted = posted + ?1, purchased = purchased + ?1 WHERE key_no = ?2";
