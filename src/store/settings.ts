import type { Clock } from "../base/clock.ts";

/** Where the data is: in a folder, or in a PostgreSQL database that several gateways may share. */
export type StoreLocation = { readonly dir: string } | PostgresLocation;

export interface PostgresLocation {
  /** Has a password in it only if it came from a secret. */
  readonly url: string;
  /** Used if the URL has none. */
  readonly password: string | null;
  /** False behind pgbouncer in transaction mode. */
  readonly prepare: boolean;
}

/**
 * `gateway` charges; `operator` reads, and changes keys and balances while gateways may be running. A folder has one
 * gateway at a time.
 */
type StoreRole = "gateway" | "operator";

export interface StoreSettings {
  /** The data folder. */
  readonly dir: string;
  readonly clock: Clock;
  readonly role: StoreRole;
  /** How long SQLite's log may get before it is copied into the database, in pages. */
  readonly maxLogPages?: number;
  /** Called for each file that other users could read until now. */
  readonly onClosedToOthers?: (file: string) => void;
  /** Called before the schema of a database that holds data is brought up to date, which may take long. */
  readonly onMigration?: (migration: Migration) => void;
}

export interface Migration {
  readonly from: number;
  readonly to: number;
  /** The copy of the database as it was. */
  readonly copy: string;
}

export interface PostgresStoreSettings {
  readonly location: PostgresLocation;
  readonly clock: Clock;
  readonly role: StoreRole;
  /** Whether the schema is brought up to date. Gateways always do so, operators by default not. */
  readonly migrates?: boolean;
  /** Called when the gateway's periodic work on the database fails; it is tried again by itself. */
  readonly onBackgroundError?: (error: unknown) => void;
}
