import type { Database, Statement } from "bun:sqlite";
import { changedKey } from "../../changed-key.ts";
import type { KeyChanges, KeyRecord } from "../../records.ts";
import { type KeyPage, type KeyQuery, StoreRefusal } from "../../store.ts";
import type { Revision } from "./revision.ts";

interface KeyRow {
  readonly no: number;
  readonly id: string;
  readonly account_no: number;
  readonly account_id: string;
  readonly hash: string;
  readonly prefix: string;
  readonly label: string | null;
  readonly mode: KeyRecord["mode"];
  readonly status: KeyRecord["status"];
  readonly scope: string;
  readonly models: string | null;
  readonly rpm_limit: number | null;
  readonly budget_tokens: number | null;
  readonly period: KeyRecord["period"];
  readonly created_at_ms: number;
  readonly expires_at_ms: number | null;
  readonly previous_hash: string | null;
  readonly previous_until_ms: number | null;
}

export interface NumberedKey {
  readonly no: number;
  readonly accountNo: number;
  readonly key: KeyRecord;
}

/** Reads and writes keys. What changes one runs inside the caller's transaction. */
export class KeyTable {
  readonly #database: Database;
  readonly #revision: Revision;
  readonly #byHash: Statement<KeyRow, [string, string, number]>;

  constructor(database: Database, revision: Revision) {
    this.#database = database;
    this.#revision = revision;
    this.#byHash = database.query(
      `${selectKeys} WHERE hash = ? OR (previous_hash = ? AND previous_until_ms > ?)`,
    );
  }

  all(): readonly KeyRecord[] {
    return this.#database.query<KeyRow, []>(`${selectKeys} ORDER BY keys.no`).all().map(keyOf);
  }

  changedSince(revision: number): readonly KeyRecord[] {
    const query = this.#database.query<KeyRow, [number]>(`${selectKeys} WHERE revision > ? ORDER BY keys.no`);
    return query.all(revision).map(keyOf);
  }

  byHash(hash: string, nowMs: number): KeyRecord | null {
    const row = this.#byHash.get(hash, hash, nowMs);
    return row === null ? null : keyOf(row);
  }

  byId(id: string): NumberedKey | null {
    const row = this.#database.query<KeyRow, [string]>(`${selectKeys} WHERE keys.id = ?`).get(id);
    return row === null ? null : { no: row.no, accountNo: row.account_no, key: keyOf(row) };
  }

  byIdOrPrefix(idOrPrefix: string): KeyRecord | null {
    const rows = this.#database
      .query<KeyRow, [string]>(`${selectKeys} WHERE keys.id = ?1 OR prefix = ?1 OR accounts.id = ?1 LIMIT 2`)
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
    const { lastInsertRowid } = this.#database.query(insertKey).run(...valuesOf(key), this.#revision.raise());
    const no = Number(lastInsertRowid);
    const floor = key.mode === "credit" ? 0 : Number.MIN_SAFE_INTEGER;
    this.#database.query(insertAccount).run(no, key.accountId, key.mode, key.budgetTokens, key.period, floor);
    this.#database.query("UPDATE keys SET account_no = ?1 WHERE no = ?1").run(no);
  }

  update(id: string, changes: KeyChanges): KeyRecord {
    const { no, accountNo, key } = this.require(id);
    const changed = changedKey(key, changes);
    this.#database.query(updateKey).run(...valuesOf(changed), this.#revision.raise(), no);
    this.#database.query(updateAccount).run(changed.budgetTokens, changed.period, accountNo);
    return changed;
  }
}

function keyOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    hash: row.hash,
    prefix: row.prefix,
    label: row.label,
    mode: row.mode,
    status: row.status,
    scope: row.scope,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    rpmLimit: row.rpm_limit,
    budgetTokens: row.budget_tokens,
    period: row.period,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    previousHash: row.previous_hash,
    previousUntilMs: row.previous_until_ms,
  };
}

function valuesOf(key: KeyRecord) {
  return [
    key.id,
    key.hash,
    key.prefix,
    key.label,
    key.status,
    key.scope,
    key.models === null ? null : JSON.stringify(key.models),
    key.rpmLimit,
    key.createdAtMs,
    key.expiresAtMs,
    key.previousHash,
    key.previousUntilMs,
  ] as const;
}

const selectKeys = `
SELECT keys.*, accounts.id AS account_id, mode, budget_tokens, period
FROM keys JOIN accounts ON accounts.no = keys.account_no`;

const columns = `id, hash, prefix, label, status, scope, models, rpm_limit, created_at_ms, expires_at_ms,
  previous_hash, previous_until_ms, revision`;

const insertKey = `INSERT INTO keys (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;

const insertAccount =
  "INSERT INTO accounts (no, id, mode, budget_tokens, period, floor) VALUES (?, ?, ?, ?, ?, ?)";

const updateKey = `UPDATE keys SET (${columns}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE no = ?`;

const updateAccount = "UPDATE accounts SET budget_tokens = ?, period = ? WHERE no = ?";

const listKeys = `
${selectKeys}
WHERE keys.no > ?
  AND (? = '' OR label LIKE ? ESCAPE '\\' OR keys.id LIKE ? ESCAPE '\\' OR prefix LIKE ? ESCAPE '\\')
ORDER BY keys.no LIMIT ?`;
