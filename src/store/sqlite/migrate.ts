import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { chownToFolderOwner } from "../../base/files/mode.ts";
import { fingerprintOf } from "../fingerprint.ts";
import type { StoreSettings } from "../settings.ts";
import { StoreError } from "../store.ts";
import { applicationId, readPragma } from "./connection.ts";
import { copyDatabase } from "./files/backup.ts";
import { backupFile, createBackupFolder } from "./files/backup-folder.ts";
import { dataFolder } from "./files/folder.ts";
import { formerFingerprint, upgradeFormer } from "./former/upgrade.ts";
import first from "./migrations/001.sql" with { type: "text" };
import second from "./migrations/002.sql" with { type: "text" };
import third from "./migrations/003.sql" with { type: "text" };
import fourth from "./migrations/004.sql" with { type: "text" };
import fifth from "./migrations/005.sql" with { type: "text" };

/**
 * The schema's version is the number of migrations that have run, kept in `user_version`. They are never changed or
 * joined: a database keeps the fingerprint of each one that made it, and is rejected if this program has another one.
 */
export const migrations: readonly string[] = [first, second, third, fourth, fifth];

export interface MigrationOptions {
  /** The database's file. Copies made before a migration go to `backups` in the same folder. */
  readonly file: string;
  readonly nowMs: number;
  readonly migrations?: readonly string[];
  readonly onMigration?: StoreSettings["onMigration"] | undefined;
}

/** Upgrades the schema, each step completely or not at all. A database with data is backed up first. */
export function migrate(database: Database, options: MigrationOptions): void {
  const steps = options.migrations ?? migrations;
  rejectOtherSchema(database, options.file, steps);
  if (isCurrent(database, steps)) return;
  const version = schemaVersion(database);
  if (version > 0) backUpBefore(database, { from: version, to: steps.length }, options);
  if (isFormer(database)) upgradeFormerSchema(database);
  for (let step = version; step < steps.length; step += 1) runStep(database, steps[step] ?? "", step);
}

export function schemaVersion(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

/** Whether no migration is missing. */
export function isCurrent(database: Database, steps: readonly string[] = migrations): boolean {
  return schemaVersion(database) === steps.length && !isFormer(database);
}

function isFormer(database: Database): boolean {
  return readFingerprints(database)[0] === formerFingerprint;
}

/** Throws for the schema of a different build, so that no statement fails on it later. An empty database passes. */
export function rejectOtherSchema(
  database: Database,
  file: string,
  steps: readonly string[] = migrations,
): void {
  const version = schemaVersion(database);
  if (version === 0) return;
  const applied = readFingerprints(database);
  const known = steps.slice(0, version).map(fingerprintOf);
  const isOther = known.some((fingerprint, step) => fingerprint !== applied[step]);
  if (isOther && !isFormer(database)) {
    throw new StoreError(
      "other_schema",
      `The database ${file} has the schema of a different build. Nothing was changed. Run \`sluice store export FILE\` ` +
        "with that build, then `sluice store import FILE` with this one, into an empty folder.",
    );
  }
  if (version <= steps.length) return;
  throw new StoreError(
    "newer_schema",
    `The database ${file} was written by a newer Sluice (schema ${version}; this one has ${steps.length}). ` +
      "Nothing was changed. Use that newer version, or restore a backup from before the upgrade.",
  );
}

/** In the order of the migrations. Empty for builds that kept none. */
function readFingerprints(database: Database): readonly string[] {
  const tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'schema_steps'";
  if (database.query(tables).get() === null) return [];
  const applied = database.query<{ fingerprint: string }, []>(
    "SELECT fingerprint FROM schema_steps ORDER BY version",
  );
  return applied.all().map(({ fingerprint }) => fingerprint);
}

function upgradeFormerSchema(database: Database): void {
  database
    .transaction(() => {
      if (!isFormer(database)) return;
      upgradeFormer(database);
      database.query("UPDATE schema_steps SET fingerprint = ?").run(fingerprintOf(first));
    })
    .immediate();
}

/** Checks the version again inside the transaction, because another process may have been faster. */
function runStep(database: Database, sql: string, step: number): void {
  database
    .transaction(() => {
      if (schemaVersion(database) > step) return;
      database.run(sql);
      database.run(
        "CREATE TABLE IF NOT EXISTS schema_steps (version INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL) STRICT",
      );
      database
        .query("INSERT INTO schema_steps (version, fingerprint) VALUES (?, ?)")
        .run(step + 1, fingerprintOf(sql));
      database.run(`PRAGMA application_id = ${applicationId}`);
      database.run(`PRAGMA user_version = ${step + 1}`);
    })
    .immediate();
}

function backUpBefore(
  database: Database,
  { from, to }: { readonly from: number; readonly to: number },
  { file, nowMs, onMigration }: MigrationOptions,
): void {
  const folder = dataFolder(dirname(file));
  const copy = backupFile(folder, `before-schema-${from + 1}`, nowMs);
  onMigration?.({ from, to, copy });
  createBackupFolder(folder);
  copyDatabase(database, copy);
  chownToFolderOwner(copy);
}
