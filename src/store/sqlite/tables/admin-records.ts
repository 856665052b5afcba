import type { Database } from "bun:sqlite";
import type { AdminRecords, AuditRecord } from "../../admin-records.ts";
import { patiently } from "../connection.ts";

export class SqliteAdminRecords implements AdminRecords {
  readonly sessions = null;
  readonly #database: Database;
  readonly #timeoutMs: number;

  constructor(database: Database, timeoutMs: number) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  appendAudit({ atMs, actor, address, action, target, detail }: Omit<AuditRecord, "id">): Promise<void> {
    return patiently(this.#timeoutMs, () => {
      this.#database
        .query(
          "INSERT INTO audit_log (at_ms, actor, address, action, target, detail) VALUES (?, ?, ?, ?, ?, ?)",
        )
        .run(atMs, actor, address, action, target, detail);
    });
  }

  listAudit({ beforeId = Number.MAX_SAFE_INTEGER, limit }: { beforeId?: number | undefined; limit: number }) {
    return patiently(this.#timeoutMs, () =>
      this.#database
        .query<AuditRecord, [number, number]>(
          `SELECT id, at_ms AS atMs, actor, address, action, target, detail
          FROM audit_log WHERE id < ? ORDER BY id DESC LIMIT ?`,
        )
        .all(beforeId, limit),
    );
  }

  readAdminTokenHash(): Promise<string | null> {
    return patiently(this.#timeoutMs, () => {
      const row = this.#database.query<{ hash: string }, []>("SELECT hash FROM admin_token").get();
      return row?.hash ?? null;
    });
  }

  saveAdminTokenHash(hash: string): Promise<string> {
    return patiently(this.#timeoutMs, () => {
      this.#database.query("INSERT OR IGNORE INTO admin_token (id, hash) VALUES (1, ?)").run(hash);
      return this.#database.query<{ hash: string }, []>("SELECT hash FROM admin_token").get()?.hash ?? hash;
    });
  }
}
