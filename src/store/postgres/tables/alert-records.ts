import type {
  AlertChanges,
  AlertPost,
  AlertRecords,
  BegunAlert,
  DrawnBound,
  ExpiringKey,
} from "../../alert-records.ts";
import { drawnBoundsParameters, drawnBoundsSql } from "../../reporting/drawn-bounds.ts";
import type { Parameter } from "../client.ts";
import type { Database } from "../database.ts";
import { rowDialect } from "./row-dialect.ts";

const drawnBounds = drawnBoundsSql({
  wide: (expression) => rowDialect.wide(`(${expression})`),
  parameter: (no) => `$${no}::int8`,
});

export class PostgresAlertRecords implements AlertRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  drawnBounds(nowMs: number) {
    return this.#database.read<DrawnBound>(drawnBounds, drawnBoundsParameters(nowMs));
  }

  expiringKeys(afterMs: number, throughMs: number) {
    return this.#database.read<ExpiringKey>(
      `SELECT id, prefix, label, expires_at_ms::float8 AS "expiresAtMs" FROM keys
      WHERE status = 'active' AND expires_at_ms > $1::int8 AND expires_at_ms <= $2::int8 ORDER BY expires_at_ms`,
      [afterMs, throughMs],
    );
  }

  publish(source: string, findings: string, nowMs: number, untilMs: number) {
    return this.#change(
      `WITH gone AS (DELETE FROM findings WHERE until_ms <= $4::int8 AND source <> $1)
      INSERT INTO findings (source, findings, until_ms) VALUES ($1, $2, $3::int8)
      ON CONFLICT (source) DO UPDATE SET findings = excluded.findings, until_ms = excluded.until_ms`,
      [source, findings, untilMs, nowMs],
    );
  }

  async published(nowMs: number) {
    const rows = await this.#database.read<{ findings: string }>(
      "SELECT findings FROM findings WHERE until_ms > $1::int8 ORDER BY source",
      [nowMs],
    );
    return rows.map(({ findings }) => findings);
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

  begun() {
    return this.#database.read<BegunAlert>("SELECT id, level, finding FROM alerts");
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

  duePosts(nowMs: number, limit: number) {
    return this.#database.read<AlertPost>(
      `SELECT no::float8 AS no, alert_id AS "alertId", body, made_at_ms::float8 AS "madeAtMs" FROM alert_posts AS post
      WHERE due_at_ms <= $1::int8
        AND NOT EXISTS (SELECT FROM alert_posts AS earlier WHERE earlier.alert_id = post.alert_id AND earlier.no < post.no)
      ORDER BY no LIMIT $2::int`,
      [nowMs, limit],
    );
  }

  postponePost(no: number, dueAtMs: number) {
    return this.#change("UPDATE alert_posts SET due_at_ms = $1::int8 WHERE no = $2::int8", [dueAtMs, no]);
  }

  removePost(no: number) {
    return this.#change("DELETE FROM alert_posts WHERE no = $1::int8", [no]);
  }

  async #change(statement: string, parameters: readonly Parameter[]): Promise<void> {
    await this.#database.change(statement, parameters);
  }
}
