import type { Database, Statement } from "bun:sqlite";
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
import type { KeyChanges, KeyRecord } from "../../records.ts";
import { type KeyPage, type KeyQuery, StoreRefusal } from "../../store.ts";
import type { Revision } from "./revision.ts";

/** Reads and writes keys. What changes one runs inside the caller's transaction. */
export class KeyTable {
  readonly #database: Database;
  readonly #revision: Revision;
  readonly #byHash: Statement<KeyRow, [string, string, number]>;

  constructor(database: Database, revision: Revision) {
    this.#database = database;
    this.#revision = revision;
    this.#byHash = database.query(
      `${select} WHERE hash = ? OR (previous_hash = ? AND previous_until_ms > ?)`,
    );
  }

  all(): readonly KeyRecord[] {
    return this.#database.query<KeyRow, []>(`${select} ORDER BY keys.no`).all().map(keyOf);
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

  byIdOrPrefix(idOrPrefix: string): KeyRecord | null {
    const rows = this.#database
      .query<KeyRow, [string]>(`${select} WHERE keys.id = ?1 OR prefix = ?1 OR accounts.id = ?1 LIMIT 2`)
      .all(idOrPrefix);
    const [row] = rows;
    return row === undefined || rows.length > 1 ? null : keyOf(row);
  }

  /** Throws a refusal when there is no such key. */
  require(id: string): NumberedKey {
    const found = this.byId(id);
    if (found === null) throw new StoreRefusal("unknown_key", `There is no key ${id}.`);
    return found;
  }

  list({ search = "", limit, cursor = "0" }: KeyQuery): KeyPage {
    const pattern = `%${search.replaceAll(/[\\%_]/g, "\\$&")}%`;
    const rows = this.#database
      .query<KeyRow, [number, string, string, string, string, number]>(listKeys)
      .all(Number(cursor), search, pattern, pattern.slice(1), pattern.slice(1), limit + 1);
    const page = rows.slice(0, limit);
    const last = page.at(-1);
    return {
      keys: page.map(keyOf),
      nextCursor: rows.length > limit && last !== undefined ? String(last.no) : null,
    };
  }

  /** With an account of its own, which gets the key's number. */
  insert(key: KeyRecord): void {
    const { lastInsertRowid } = this.#database
      .query(insertKey)
      .run(key.id, key.createdAtMs, this.#revision.raise(), ...columnValues(keyColumns, key));
    const no = Number(lastInsertRowid);
    const floor = key.mode === "credit" ? 0 : Number.MIN_SAFE_INTEGER;
    this.#database
      .query(insertAccount)
      .run(no, key.accountId, key.mode, floor, ...columnValues(accountTerms, key));
    this.#database.query("UPDATE keys SET account_no = ?1 WHERE no = ?1").run(no);
  }

  update(id: string, changes: KeyChanges): KeyRecord {
    const { no, accountNo, key } = this.require(id);
    const changed = changedKey(key, changes);
    this.#database.query(updateKey).run(this.#revision.raise(), ...columnValues(keyColumns, changed), no);
    this.#database.query(updateAccount).run(...columnValues(accountTerms, changed), accountNo);
    return changed;
  }
}

function keyOf(row: KeyRow): KeyRecord {
  return keyFromRow(row).key;
}

const select = selectKeys((column) => column);
const ofKey = columnNames(keyColumns);
const ofAccount = columnNames(accountTerms);
const keyValues = keyColumns.map(() => "?").join(", ");
const accountValues = accountTerms.map(() => "?").join(", ");

const insertKey = `INSERT INTO keys (id, created_at_ms, revision, ${ofKey}) VALUES (?, ?, ?, ${keyValues})`;

const insertAccount = `INSERT INTO accounts (no, id, mode, floor, ${ofAccount}) VALUES (?, ?, ?, ?, ${accountValues})`;

const updateKey = `UPDATE keys SET (revision, ${ofKey}) = (?, ${keyValues}) WHERE no = ?`;

const updateAccount = `UPDATE accounts SET (${ofAccount}) = (${accountValues}) WHERE no = ?`;

const listKeys = `
${select}
WHERE keys.no > ?
  AND (? = '' OR label LIKE ? ESCAPE '\\' OR keys.id LIKE ? ESCAPE '\\' OR prefix LIKE ? ESCAPE '\\')
ORDER BY keys.no LIMIT ?`;
