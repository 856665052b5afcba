import type { SessionRecord, SessionRecords } from "../../admin-records.ts";
import type { Database } from "../database.ts";

/** Sessions in the database, which every gateway of a cluster finds. */
export class PostgresSessions implements SessionRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async begin({ hash, identity, endsAtMs }: SessionRecord, most: number): Promise<void> {
    await this.#database.change(
      "INSERT INTO sessions (hash, identity, ends_at_ms) VALUES ($1, $2, $3::int8)",
      [hash, identity, endsAtMs],
    );
    await this.#database.change(
      "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY ends_at_ms DESC OFFSET $1::int)",
      [most],
    );
  }

  async find(hash: string, nowMs: number): Promise<string | null> {
    const [found] = await this.#database.read<{ identity: string }>(
      "SELECT identity FROM sessions WHERE hash = $1 AND ends_at_ms > $2::int8",
      [hash, nowMs],
    );
    return found?.identity ?? null;
  }

  async end(hash: string): Promise<void> {
    await this.#database.change("DELETE FROM sessions WHERE hash = $1", [hash]);
  }

  async endAll(): Promise<void> {
    await this.#database.change("DELETE FROM sessions");
  }
}
