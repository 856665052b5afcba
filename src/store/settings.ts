import type { Clock } from "../base/clock.ts";

/** The location of the data: a folder, or a PostgreSQL database that gateways can share. */
export type StoreLocation = { readonly dir: string } | PostgresLocation;

export interface PostgresLocation {
  /** Contains a password only if it came from a secret. */
  readonly url: string;
  /** Used if the URL has none. */
  readonly password: StorePassword | null;
  /** False behind pgbouncer in transaction mode. */
  readonly prepare: boolean;
}

/** A secret, or the file that is read with every connection, and what it held at the start. */
export type StorePassword = string | { readonly file: string; readonly atStart: string };

/**
 * `gateway` charges. `operator` reads, and changes keys and balances while no gateway runs, or while gateways share the
 * database. A folder has one gateway at a time.
 */
type StoreRole = "gateway" | "operator";

export interface StoreSettings {
  /** The data folder. */
  readonly dir: string;
  readonly clock: Clock;
  readonly role: StoreRole;
  /** For an operator's change: prevents a gateway from starting meanwhile. */
  readonly locks?: boolean;
  /** Maximum length of SQLite's log, in pages, before it is copied into the database. */
  readonly maxLogPages?: number;
  /** Called for each file whose permissions were too open. */
  readonly onPermissionsRestricted?: (file: string) => void;
  /** Called before the schema of a database with data is upgraded, which may take long. */
  readonly onMigration?: (migration: Migration) => void;
}

export interface Migration {
  readonly from: number;
  readonly to: number;
  /** The backup of the database before the migration. */
  readonly copy: string;
}

export interface PostgresStoreSettings {
  readonly location: PostgresLocation;
  readonly clock: Clock;
  readonly role: StoreRole;
  /** Whether to upgrade the schema. Gateways always do, operators only if this is set. */
  readonly migrates?: boolean;
  /** Called when the gateway's periodic work on the database fails; it is retried automatically. */
  readonly onBackgroundError?: (error: unknown) => void;
}
