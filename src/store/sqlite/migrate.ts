import type { Database } from "bun:sqlite";
import { dirname } from "node:path";
import { giveToFolderOwner } from "../../base/files/mode.ts";
import type { StoreSettings } from "../settings.ts";
import { StoreRefusal } from "../store.ts";
import { applicationId, readPragma } from "./connection.ts";
import { copyDatabase } from "./files/backup.ts";
import { backupFile, createBackupFolder } from "./files/backup-folder.ts";
import { dataFolder } from "./files/folder.ts";
import first from "./migrations/001.sql" with { type: "text" };
import second from "./migrations/002.sql" with { type: "text" };
import third from "./migrations/003.sql" with { type: "text" };
import fourth from "./migrations/004.sql" with { type: "text" };
import fifth from "./migrations/005.sql" with { type: "text" };
import sixth from "./migrations/006.sql" with { type: "text" };
import seventh from "./migrations/007.sql" with { type: "text" };
import eighth from "./migrations/008.sql" with { type: "text" };
import ninth from "./migrations/009.sql" with { type: "text" };
import tenth from "./migrations/010.sql" with { type: "text" };
import eleventh from "./migrations/011.sql" with { type: "text" };
import twelfth from "./migrations/012.sql" with { type: "text" };
import thirteenth from "./migrations/013.sql" with { type: "text" };
import fourteenth from "./migrations/014.sql" with { type: "text" };
import fifteenth from "./migrations/015.sql" with { type: "text" };
import sixteenth from "./migrations/016.sql" with { type: "text" };
import seventeenth from "./migrations/017.sql" with { type: "text" };
import eighteenth from "./migrations/018.sql" with { type: "text" };
import nineteenth from "./migrations/019.sql" with { type: "text" };
import twentieth from "./migrations/020.sql" with { type: "text" };
import twentyFirst from "./migrations/021.sql" with { type: "text" };
import twentySecond from "./migrations/022.sql" with { type: "text" };
import twentyThird from "./migrations/023.sql" with { type: "text" };
import twentyFourth from "./migrations/024.sql" with { type: "text" };
import twentyFifth from "./migrations/025.sql" with { type: "text" };
import twentySixth from "./migrations/026.sql" with { type: "text" };
import twentySeventh from "./migrations/027.sql" with { type: "text" };
import twentyEighth from "./migrations/028.sql" with { type: "text" };

/** The schema's version is the number of migrations that have run; it is kept in `user_version`. */
export const migrations: readonly string[] = [
  first,
  second,
  third,
  fourth,
  fifth,
  sixth,
  seventh,
  eighth,
  ninth,
  tenth,
  eleventh,
  twelfth,
  thirteenth,
  fourteenth,
  fifteenth,
  sixteenth,
  seventeenth,
  eighteenth,
  nineteenth,
  twentieth,
  twentyFirst,
  twentySecond,
  twentyThird,
  twentyFourth,
  twentyFifth,
  twentySixth,
  twentySeventh,
  twentyEighth,
];

export interface MigrationOptions {
  /** The database's file; copies made before a migration go to `backups` beside it. */
  readonly file: string;
  readonly nowMs: number;
  readonly migrations?: readonly string[];
  readonly onMigration?: StoreSettings["onMigration"] | undefined;
}

/** Brings the schema up to date, each step whole or not at all. A database that holds data is copied first. */
export function migrate(database: Database, options: MigrationOptions): void {
  const steps = options.migrations ?? migrations;
  const version = schemaVersion(database);
  refuseNewer(version, steps.length, options.file);
  if (version === steps.length) return;
  if (version > 0) backUpBefore(database, { from: version, to: steps.length }, options);
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
  giveToFolderOwner(copy);
}
