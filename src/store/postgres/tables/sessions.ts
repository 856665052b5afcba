import type { SessionRecords } from "../../admin-records.ts";
import type { Database } from "../database.ts";

/** Sessions in the database, which every gateway of a cluster finds. */
export class PostgresSessions implements SessionRecords {
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
