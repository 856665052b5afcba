import type { AlertChanges, AlertRecords } from "../../alert-records.ts";
import { StoredAlerts } from "../../tables/alert-records.ts";
import type { Database } from "../database.ts";

export class PostgresAlertRecords extends StoredAlerts implements AlertRecords {
  readonly #database: Database;

  constructor(database: Database) {
    super(database);
    this.#database = database;
  }

  /** By the database's own clock, which all gateways share. */
  async lead(gateway: string, forMs: number) {
    const rows = await this.#database.change(
      `UPDATE alert_sender SET gateway = $1, until = clock_timestamp() + $2::int * interval '1 millisecond'
      WHERE gateway = $1 OR until < clock_timestamp() RETURNING gateway`,
      [gateway, forMs],
    );
    return rows.length > 0;
  }

  recordAlerts({ begun, ended, posts }: AlertChanges): Promise<void> {
    return this.#database.changeAll(async (query) => {
      for (const { id, level, finding } of begun) {
        await query(
          `INSERT INTO alerts (id, level, finding) VALUES ($1, $2::int, $3)
          ON CONFLICT (id) DO UPDATE SET level = excluded.level, finding = excluded.finding`,
          [id, level, finding],
        );
      }
      await query("DELETE FROM alerts WHERE id = ANY ($1::text[])", [[...ended]]);
      for (const { alertId, body, madeAtMs } of posts) {
        await query(
          "INSERT INTO alert_posts (alert_id, body, made_at_ms, due_at_ms) VALUES ($1, $2, $3::int8, $3::int8)",
          [alertId, body, madeAtMs],
        );
      }
    });
  }
}
