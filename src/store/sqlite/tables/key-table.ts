import type { Database, Statement } from "bun:sqlite";
import { checkJoin } from "../../account-row.ts";
import { changedKey } from "../../changed-key.ts";
import {
  accountTerms,
  columnNames,
  columnValues,
  type KeyRow,
  keyColumns,
  keyFromRow,
  type NumberedKey,
  selectKeys,
} from "../../key-row.ts";
import { ownAccountOf } from "../../own-account.ts";
import type { CapLimit, KeyChanges, KeyRecord } from "../../records.ts";
import { StoreRefusal } from "../../store.ts";
import { sqliteText } from "../queries.ts";
import type { AccountTable } from "./account-table.ts";
import type { CapTable, NumberedOwner } from "./cap-table.ts";
import type { Revision } from "./revision.ts";

/** Reads and writes keys. What changes one runs inside the caller's transaction. */
export class KeyTable {
  readonly #database: Database;
  readonly #revision: Revision;
  readonly #accounts: AccountTable;
  readonly #caps: CapTable;
  readonly #byHash: Statement<KeyRow, [string, string, number]>;

  constructor(database: Database, revision: Revision, accounts: AccountTable, caps: CapTable) {
    this.#database = database;
    this.#revision = revision;
    this.#accounts = accounts;
    this.#caps = caps;
    this.#byHash = database.query(
      `${select} WHERE hash = ? OR (previous_hash = ? AND previous_until_ms > ?)`,
    );
  }

  all(): readonly KeyRecord[] {
    return this.#database.query<KeyRow, []>(`${select} ORDER BY keys.no`).all().map(keyOf);
  }

  ofAccount(accountNo: number): readonly KeyRecord[] {
    const query = this.#database.query<KeyRow, [number]>(
      `${select} WHERE keys.account_no = ? ORDER BY keys.no`,
    );
    return query.all(accountNo).map(keyOf);
  }

  changedSince(revision: number): readonly KeyRecord[] {
    const query = this.#database.query<KeyRow, [number]>(`${select} WHERE revision > ? ORDER BY keys.no`);
    return query.all(revision).map(keyOf);
  }

  byHash(hash: string, nowMs: number): KeyRecord | null {
    const row = this.#byHash.get(hash, hash, nowMs);
    return row === null ? null : keyOf(row);
  }

  byId(id: string): NumberedKey | null {
    const row = this.#database.query<KeyRow, [string]>(`${select} WHERE keys.id = ?`).get(id);
    return row === null ? null : keyFromRow(row);
  }

  /** Throws a refusal when there is no such key. */
  require(id: string): NumberedKey {
    const found = this.byId(id);
    if (found === null) throw new StoreRefusal("unknown_key", `There is no key ${id}.`);
    return found;
  }

  /** It draws on the account that it names; if there is none, it gets one of its own, with its number. */
  insert(key: KeyRecord): void {
    const account = this.#accounts.byId(key.accountId);
    if (account !== null) checkJoin(account.account, key.mode);
    const { lastInsertRowid } = this.#database
      .query(insertKey)
      .run(key.id, key.createdAtMs, this.#revision.raise(), ...columnValues(keyColumns, key));
    const no = Number(lastInsertRowid);
    if (account === null) this.#accounts.insert(no, ownAccountOf(key));
    this.#database.query("UPDATE keys SET account_no = ? WHERE no = ?").run(account?.no ?? no, no);
    this.#database.query("INSERT INTO key_sums (key_no) VALUES (?)").run(no);
    this.#caps.set({ column: "key_no", no, countedAtMs: 0 }, [], key.caps, key.createdAtMs);
  }

  update(id: string, changes: KeyChanges): KeyRecord {
    const { no, key } = this.require(id);
    const changed = changedKey(key, changes);
    this.#database.query(updateKey).run(this.#revision.raise(), ...columnValues(keyColumns, changed), no);
    if (accountTerms.some(({ field }) => changed[field] !== key[field])) {
      const { budgetTokens, period } = changed;
      this.#accounts.update(key.accountId, { budgetTokens, period });
    }
    return changed;
  }

  move(id: string, accountId: string): KeyRecord {
    const { no, key } = this.require(id);
    const { no: accountNo, account } = this.#accounts.require(accountId);
    checkJoin(account, key.mode);
    this.#database
      .query("UPDATE keys SET account_no = ?, revision = ? WHERE no = ?")
      .run(accountNo, this.#revision.raise(), no);
    return this.require(id).key;
  }

  setCaps(id: string, caps: readonly CapLimit[], nowMs: number): void {
    const found = this.require(id);
    this.#caps.set(this.#owner(found), found.key.caps, caps, nowMs);
    this.#touch(found.no);
  }

  extendCap(id: string, capNo: number, amount: number, nowMs: number): void {
    const found = this.require(id);
    this.#caps.extend(this.#owner(found), capNo, amount, nowMs);
    this.#touch(found.no);
  }

  #owner({ no, accountNo }: NumberedKey): NumberedOwner {
    return { column: "key_no", no, countedAtMs: this.#accounts.countedAtMs(accountNo) };
  }

  #touch(no: number): void {
    this.#database.query("UPDATE keys SET revision = ? WHERE no = ?").run(this.#revision.raise(), no);
  }
}

function keyOf(row: KeyRow): KeyRecord {
  return keyFromRow(row).key;
}

const select = sqliteText(selectKeys);
const ofKey = columnNames(keyColumns);
const keyValues = keyColumns.map(() => "?").join(", ");

const insertKey = `INSERT INTO keys (id, created_at_ms, revision, ${ofKey}) VALUES (?, ?, ?, ${keyValues})`;

const updateKey = `UPDATE keys SET (revision, ${ofKey}) = (?, ${keyValues}) WHERE no = ?`;
