import type { Database } from "bun:sqlite";
import type {
  AlertChanges,
  AlertPost,
  AlertRecords,
  BegunAlert,
  DrawnBound,
  ExpiringKey,
} from "../../alert-records.ts";
import { drawnBoundsParameters, drawnBoundsSql } from "../../reporting/drawn-bounds.ts";
import { patiently } from "../connection.ts";
import { rowDialect } from "./row-dialect.ts";

const drawnBounds = drawnBoundsSql({ wide: rowDialect.wide, parameter: (no) => `?${no}` });

export class SqliteAlertRecords implements AlertRecords {
  readonly #database: Database;
  readonly #timeoutMs: number;

  constructor(database: Database, timeoutMs: number) {
    this.#database = database;
    this.#timeoutMs = timeoutMs;
  }

  drawnBounds(nowMs: number) {
    const query = this.#database.query<DrawnBound, number[]>(drawnBounds);
    return this.#patiently(() => query.all(...drawnBoundsParameters(nowMs)));
  }

  expiringKeys(afterMs: number, throughMs: number) {
    const query = this.#database.query<ExpiringKey, [number, number]>(
      `SELECT id, prefix, label, expires_at_ms AS expiresAtMs FROM keys
      WHERE status = 'active' AND expires_at_ms > ? AND expires_at_ms <= ? ORDER BY expires_at_ms`,
    );
    return this.#patiently(() => query.all(afterMs, throughMs));
  }

  publish(source: string, findings: string, nowMs: number, untilMs: number): Promise<void> {
    const replace = this.#database.transaction(() => {
      this.#database.query("DELETE FROM findings WHERE until_ms <= ? OR source = ?").run(nowMs, source);
      this.#database
        .query("INSERT INTO findings (source, findings, until_ms) VALUES (?, ?, ?)")
        .run(source, findings, untilMs);
    });
    return this.#patiently(replace.immediate);
  }

  published(nowMs: number) {
    const query = this.#database.query<{ findings: string }, [number]>(
      "SELECT findings FROM findings WHERE until_ms > ? ORDER BY source",
    );
    return this.#patiently(() => query.all(nowMs).map(({ findings }) => findings));
  }

  /** The folder has one gateway. */
  async lead() {
    return true;
  }

  begun() {
    return this.#patiently(() =>
      this.#database.query<BegunAlert, []>("SELECT id, level, finding FROM alerts").all(),
    );
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
    return this.#patiently(record.immediate);
  }

  duePosts(nowMs: number, limit: number) {
    const query = this.#database.query<AlertPost, [number, number]>(
      `SELECT no, alert_id AS alertId, body, made_at_ms AS madeAtMs FROM alert_posts AS post WHERE due_at_ms <= ?
        AND NOT EXISTS (SELECT 1 FROM alert_posts AS earlier WHERE earlier.alert_id = post.alert_id AND earlier.no < post.no)
      ORDER BY no LIMIT ?`,
    );
    return this.#patiently(() => query.all(nowMs, limit));
  }

  postponePost(no: number, dueAtMs: number) {
    return this.#run("UPDATE alert_posts SET due_at_ms = ? WHERE no = ?", [dueAtMs, no]);
  }

  removePost(no: number) {
    return this.#run("DELETE FROM alert_posts WHERE no = ?", [no]);
  }

  #run(statement: string, values: (string | number)[]): Promise<void> {
    return this.#patiently(() => {
      this.#database.query(statement).run(...values);
    });
  }

  #patiently<Result>(work: () => Result): Promise<Result> {
    return patiently(this.#timeoutMs, work);
  }
}
