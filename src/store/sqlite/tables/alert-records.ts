import type { Database } from "bun:sqlite";
import type { AlertChanges, AlertRecords } from "../../alert-records.ts";
import type { Queries } from "../../query.ts";
import { StoredAlerts } from "../../tables/alert-records.ts";
import { patiently } from "../connection.ts";

export class SqliteAlertRecords extends StoredAlerts implements AlertRecords {
  readonly #database: Database;
  readonly #timeoutMs: number;

  constructor(queries: Queries, database: Database, timeoutMs: number) {
    super(queries);
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  /** The folder has one gateway. */
  async lead() {
    return true;
  }

  recordAlerts({ begun, ended, posts }: AlertChanges): Promise<void> {
    const record = this.#database.transaction(() => {
      for (const { id, level, finding } of begun) {
        this.#database
          .query("INSERT OR REPLACE INTO alerts (id, level, finding) VALUES (?, ?, ?)")
          .run(id, level, finding);
      }
      for (const id of ended) this.#database.query("DELETE FROM alerts WHERE id = ?").run(id);
      for (const { alertId, body, madeAtMs } of posts) {
        this.#database
          .query("INSERT INTO alert_posts (alert_id, body, made_at_ms, due_at_ms) VALUES (?, ?, ?, ?)")
          .run(alertId, body, madeAtMs, madeAtMs);
      }
    });
    return patiently(this.#timeoutMs, record.immediate);
  }
}
