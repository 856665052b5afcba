import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { StoreRefusal } from "../store.ts";
import { applicationId, readPragma } from "./connection.ts";
import { copyDatabase } from "./files/backup.ts";
import { backupFile, createBackupFolder } from "./files/backup-folder.ts";
import { dataFolder } from "./files/folder.ts";
import { migrationTexts } from "./migration-texts.ts" with { type: "macro" };

/** In their order. The schema's version is the number of migrations that have run; it is kept in `user_version`. */
export const migrations: readonly string[] = migrationTexts();

export interface MigrationOptions {
  /** The database's file; copies made before a migration go to `backups` beside it. */
  readonly file: string;
  readonly nowMs: number;
  readonly migrations?: readonly string[];
}

/** Brings the schema up to date, each step whole or not at all. A database that holds data is copied first. */
export function migrate(database: Database, options: MigrationOptions): void {
  const steps = options.migrations ?? migrations;
  const version = schemaVersion(database);
  refuseNewer(version, steps.length, options.file);
  if (version === steps.length) return;
  if (version > 0) backUpBefore(database, version, options);
  for (let step = version; step < steps.length; step += 1) runStep(database, steps[step] ?? "", step);
}

export function schemaVersion(database: Database): number {
  return Number(readPragma(database, "user_version"));
}

export function refuseNewer(version: number, known: number, file: string): void {
  if (version <= known) return;
  throw new StoreRefusal(
    "newer_schema",
    `The database ${file} was written by a newer Sluice (schema ${version}; this one knows ${known}). ` +
      "Nothing was changed. Use that newer version, or restore a copy made before the upgrade.",
  );
}

/** Looks at the version again inside the transaction, because another process may have been faster. */
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

function backUpBefore(database: Database, version: number, options: MigrationOptions): void {
  const folder = dataFolder(dirname(options.file));
  createBackupFolder(folder);
  copyDatabase(database, backupFile(folder, `before-schema-${version + 1}`, options.nowMs));
}
