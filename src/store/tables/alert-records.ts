import type {
  AlertChanges,
  AlertPost,
  AlertRecords,
  BegunAlert,
  DrawnBound,
  ExpiringKey,
} from "../alert-records.ts";
import { type Parameter, type Queries, query } from "../query.ts";
import { drawnBoundsParameters, drawnBoundsSql } from "../reporting/drawn-bounds.ts";

/** What every database does in the same way. */
export class StoredAlerts implements AlertRecords {
  readonly #queries: Queries;

  constructor(queries: Queries) {
    this.#queries = queries;
  }

  drawnBounds(nowMs: number) {
    return this.#queries.read<DrawnBound>(drawnBoundsSql(), drawnBoundsParameters(nowMs));
  }

  expiringKeys(afterMs: number, throughMs: number) {
    return this.#queries.read<ExpiringKey>(
      `SELECT id, prefix, label, expires_at_ms::float8 AS "expiresAtMs" FROM keys
      WHERE status = 'active' AND expires_at_ms > $1::int8 AND expires_at_ms <= $2::int8 ORDER BY expires_at_ms`,
      [afterMs, throughMs],
    );
  }

  async publish(source: string, findings: string, nowMs: number, untilMs: number): Promise<void> {
    await this.#change(
      `INSERT INTO findings (source, findings, until_ms) VALUES ($1, $2, $3::int8)
      ON CONFLICT (source) DO UPDATE SET findings = excluded.findings, until_ms = excluded.until_ms`,
      [source, findings, untilMs],
    );
    await this.#change("DELETE FROM findings WHERE until_ms <= $1::int8", [nowMs]);
  }

  async published(nowMs: number) {
    const rows = await this.#queries.read<{ findings: string }>(
      "SELECT findings FROM findings WHERE until_ms > $1::int8 ORDER BY source",
      [nowMs],
    );
    return rows.map(({ findings }) => findings);
  }

  /** A store that one gateway uses has no other to send them. */
  async lead(_gateway: string, _forMs: number): Promise<boolean> {
    return true;
  }

  begun() {
    return this.#queries.read<BegunAlert>("SELECT id, level, finding FROM alerts");
  }

  recordAlerts({ begun, ended, posts }: AlertChanges): Promise<void> {
    return this.#queries.changeTogether(function* () {
      for (const { id, level, finding } of begun) {
        yield* query(
          `INSERT INTO alerts (id, level, finding) VALUES ($1::text, $2::int, $3::text)
          ON CONFLICT (id) DO UPDATE SET level = excluded.level, finding = excluded.finding`,
          [id, level, finding],
        );
      }
      yield* query("DELETE FROM alerts WHERE id = ANY ($1::text[])", [ended]);
      for (const { alertId, body, madeAtMs } of posts) {
        yield* query(
          "INSERT INTO alert_posts (alert_id, body, made_at_ms, due_at_ms) VALUES ($1::text, $2::text, $3::int8, $3::int8)",
          [alertId, body, madeAtMs],
        );
      }
    });
  }

  duePosts(nowMs: number, limit: number) {
    return this.#queries.read<AlertPost>(
      `SELECT no::float8 AS no, alert_id AS "alertId", body, made_at_ms::float8 AS "madeAtMs" FROM alert_posts AS post
      WHERE due_at_ms <= $1::int8
        AND NOT EXISTS (SELECT 1 FROM alert_posts AS earlier WHERE earlier.alert_id = post.alert_id AND earlier.no < post.no)
      ORDER BY no LIMIT $2::int8`,
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
    await this.#queries.change(statement, parameters);
  }
}
