import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { chownToFolderOwner } from "../../base/files/mode.ts";
import type { StoreSettings } from "../settings.ts";
import { StoreError } from "../store.ts";
import { applicationId, readPragma, unreleasedApplicationId } from "./connection.ts";
import { copyDatabase } from "./files/backup.ts";
import { backupFile, createBackupFolder } from "./files/backup-folder.ts";
import { dataFolder } from "./files/folder.ts";
import first from "./migrations/001.sql" with { type: "text" };

/**
 * The schema's version is the number of migrations that have run, kept in `user_version`. From 0.1.0 on, migrations
 * are never changed or joined.
 */
export const migrations: readonly string[] = [first];

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
  const version = schemaVersion(database);
  rejectUnreleased(database, options.file);
  rejectNewer(version, steps.length, options.file);
  if (version === steps.length) return;
  if (version > 0) backUpBefore(database, { from: version, to: steps.length }, options);
  for (let step = version; step < steps.length; step += 1) runStep(database, steps[step] ?? "", step);
}

export function schemaVersion(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

/** Builds before 0.1.0 had other migrations. */
export function rejectUnreleased(database: Database, file: string): void {
  if (readPragma(database, "application_id") !== unreleasedApplicationId) return;
  throw new StoreError(
    "other_schema",
    `The database ${file} was made by a build before 0.1.0, which this release cannot read. Nothing was changed. ` +
      "Start with an empty data folder, or use that build.",
  );
}

export function rejectNewer(version: number, known: number, file: string): void {
  if (version <= known) return;
  throw new StoreError(
    "newer_schema",
    `The database ${file} was written by a newer Sluice (schema ${version}; this one knows ${known}). ` +
      "Nothing was changed. Use that newer version, or restore a copy made before the upgrade.",
  );
}

/** Checks the version again inside the transaction, because another process may have been faster. */
function runStep(database: Database, sql: string, step: number): void {
  database
    .transaction(() => {
      if (schemaVersion(database) > step) return;
      database.run(sql);
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
