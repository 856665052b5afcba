import type { AdminRecords, AuditRecord, SessionRecords } from "../../admin-records.ts";
import type { Database } from "../database.ts";

export class PostgresAdminRecords implements AdminRecords {
  readonly sessions: SessionRecords;
  readonly #database: Database;

  constructor(database: Database) {
    this.sessions = new PostgresSessions(database);
    this.#database = database;
  }

  async appendAudit(record: Omit<AuditRecord, "id">): Promise<void> {
    const { atMs, actor, address, action, target, detail } = record;
    await this.#database.change(
      `INSERT INTO audit_log (at_ms, actor, address, action, target, detail)
      VALUES ($1::int8, $2, $3, $4, $5, $6)`,
      [atMs, actor, address, action, target, detail],
    );
  }

  listAudit({ beforeId = Number.MAX_SAFE_INTEGER, limit }: { beforeId?: number | undefined; limit: number }) {
    return this.#database.read<AuditRecord>(
      `SELECT id::float8 AS id, at_ms::float8 AS "atMs", actor, address, action, target, detail
      FROM audit_log WHERE id < $1::int8 ORDER BY id DESC LIMIT $2::int`,
      [beforeId, limit],
    );
  }

  async readAdminTokenHash(): Promise<string | null> {
    const [row] = await this.#database.read<{ hash: string }>("SELECT hash FROM admin_token");
    return row?.hash ?? null;
  }

  async saveAdminTokenHash(hash: string): Promise<string> {
    await this.#database.change(
      "INSERT INTO admin_token (id, hash) VALUES (1, $1) ON CONFLICT (id) DO NOTHING",
      [hash],
    );
    return (await this.readAdminTokenHash()) ?? hash;
  }
}

class PostgresSessions implements SessionRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin(hash: string, endsAtMs: number, most: number): Promise<void> {
    await this.#database.change("INSERT INTO sessions (hash, ends_at_ms) VALUES ($1, $2::int8)", [
      hash,
      endsAtMs,
    ]);
    await this.#database.change(
      "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY ends_at_ms DESC OFFSET $1::int)",
      [most],
    );
  }

  async isOpen(hash: string, nowMs: number): Promise<boolean> {
    const found = await this.#database.read<{ hash: string }>(
      "SELECT hash FROM sessions WHERE hash = $1 AND ends_at_ms > $2::int8",
      [hash, nowMs],
    );
    return found.length > 0;
  }

  async end(hash: string): Promise<void> {
    await this.#database.change("DELETE FROM sessions WHERE hash = $1", [hash]);
  }

  async endAll(): Promise<void> {
    await this.#database.change("DELETE FROM sessions");
  }
}
