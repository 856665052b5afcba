import { StoredAlerts } from "../../tables/alert-records.ts";
import type { Database } from "../database.ts";

export class PostgresAlertRecords extends StoredAlerts {
  readonly #database: Database;

  constructor(database: Database) {
    super(database);
    this.#database = database;
  }

  /** By the database's own clock, which all gateways share. */
  override async lead(gateway: string, forMs: number): Promise<boolean> {
    const rows = await this.#database.change(
      `UPDATE alert_sender SET gateway = $1, until = clock_timestamp() + $2::int * interval '1 millisecond'
      WHERE gateway = $1 OR until < clock_timestamp() RETURNING gateway`,
      [gateway, forMs],
    );
    return rows.length > 0;
  }
}
