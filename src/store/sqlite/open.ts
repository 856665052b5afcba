import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { newStats } from "../health.ts";
import type { BatchWriter } from "../journal/batch-writer.ts";
import { Journal } from "../journal/journal.ts";
import { rejectMoved } from "../moved.ts";
import type { StoreSettings } from "../settings.ts";
import { StoreError } from "../store.ts";
import { cleanStoredLabels } from "../tables/clean-labels.ts";
import { codeOf, corruptError, isCorrupt, openConnection, patiently } from "./connection.ts";
import { removeUnfinished } from "./files/backup.ts";
import { createFolder, type DataFolder, dataFolder } from "./files/folder.ts";
import { lockFolder, tryLock } from "./files/folder-lock.ts";
import { diskFullError, isFull } from "./files/full-disk.ts";
import { checkIntegrity } from "./files/integrity.ts";
import { noteDamagedLog } from "./files/ledger-damage.ts";
import { rejectMissingLedger } from "./files/missing-ledger.ts";
import { OpenFiles } from "./files/open-files.ts";
import { restrictPermissions } from "./files/permissions.ts";
import { DiskReserve } from "./files/reserve.ts";
import { Checkpointer } from "./log/checkpointer.ts";
import { hasFailedSync, noteFailedSync, recoverLog, rewriteLog } from "./log/failed-sync.ts";
import { LogSync } from "./log/log-sync.ts";
import { isCurrent, type MigrationOptions, migrate, migrations, schemaVersion } from "./migrate.ts";
import { sqliteStatements } from "./own-statements.ts";
import { sqliteProblems } from "./problems.ts";
import { perform } from "./queries.ts";
import { commandReader } from "./reports/report-reader.ts";
import { ReportThread } from "./reports/report-thread.ts";
import { type SqliteStore, sqliteStore } from "./sqlite-store.ts";
import { SqliteWriter } from "./writers/sqlite-writer.ts";

/** SQLite blocks the thread while it waits for a lock; longer waits are asynchronous. */
const busyTimeoutMs = 3;
const operatorTimeoutMs = 10_000;

export async function openSqliteStore(options: StoreSettings): Promise<SqliteStore> {
  const folder = dataFolder(options.dir);
  try {
    if (options.role === "operator" && !options.locks) return await openUnlocked(options, () => {});
    const lock = await lockFolder(folder);
    try {
      // Left by a restore that was killed. We hold the lock, so no other process is writing it.
      removeUnfinished(folder.incomingFile);
      return await openUnlocked(options, () => lock.release());
    } catch (error) {
      lock.release();
      throw error;
    }
  } catch (error) {
    throw isFull(error, options.dir) ? diskFullError(options.dir) : error;
  }
}

/** `wrapWriter` lets tests intercept between the journal and the disk. */
export async function openUnlocked(
  options: StoreSettings,
  onClose: () => void,
  wrapWriter: (writer: BatchWriter) => BatchWriter = (writer) => writer,
): Promise<SqliteStore> {
  const folder = dataFolder(options.dir);
  rejectMissingLedger(folder);
  createFolder(folder);
  restrictPermissions(folder, options.onPermissionsRestricted ?? (() => {}));
  lookAtLog(folder, options);
  const database = await openChecked(folder, options);
  try {
    const stats = newStats();
    const common = { database, dir: folder.dir, stats, timeoutMs: operatorTimeoutMs };
    if (options.role === "operator") {
      const log = new LogSync(folder.databaseFile);
      const reports = commandReader(folder.dir);
      return sqliteStore({
        ...common,
        log,
        reports,
        journal: null,
        checkpoints: null,
        watched: null,
        onClose,
      });
    }
    await recoverLog(database, folder);
    database
      .transaction(() => perform(database, cleanStoredLabels(sqliteStatements, options.clock.wallMs())))
      .immediate();
    await tidyUp(database);
    const log = new LogSync(folder.databaseFile, () => noteFailedSync(folder, writer.acknowledgedId));
    await log.sync();
    const checkpoints = new Checkpointer({ database, log, maxPages: options.maxLogPages });
    const files = new OpenFiles(folder, options.clock);
    const writer = new SqliteWriter(database, { sync: log, checkpoints, files });
    const reserve = new DiskReserve(folder.reserveFile);
    reserve.fill();
    const journal = new Journal({ writer: wrapWriter(writer), stats, reserve, problems: sqliteProblems });
    const closeAll = () => {
      reserve.close();
      onClose();
    };
    const reports = new ReportThread(folder.dir);
    return sqliteStore({ ...common, log, reports, journal, checkpoints, watched: files, onClose: closeAll });
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Before the database is opened. A gateway that runs writes to the log, and has looked at it when it started. */
function lookAtLog(folder: DataFolder, { clock, role, locks }: StoreSettings): void {
  if (role === "gateway" || locks === true) {
    noteDamagedLog(folder, clock.wallMs());
    return;
  }
  if (!existsSync(`${folder.databaseFile}-wal`)) return;
  const lock = tryLock(folder);
  if (lock === null) return;
  try {
    noteDamagedLog(folder, clock.wallMs());
  } finally {
    lock.release();
  }
}

async function openChecked(
  folder: DataFolder,
  { clock, role, locks, onMigration }: StoreSettings,
): Promise<Database> {
  const { databaseFile } = folder;
  try {
    return await patiently(operatorTimeoutMs, () => {
      const database = openConnection(databaseFile, { busyTimeoutMs, isSyncedByLog: role === "gateway" });
      try {
        // A gateway that could not sync may not have been able to note it either.
        if (role === "gateway" || hasFailedSync(folder)) rewriteLog(database);
        checkIntegrity(database, databaseFile);
        const options = { file: databaseFile, nowMs: clock.wallMs(), onMigration };
        if (role === "gateway" || locks) migrate(database, options);
        else migrateUnlessServed(database, folder, options);
        perform(database, rejectMoved(folder.dir));
        return database;
      } catch (error) {
        database.close();
        throw error;
      }
    });
  } catch (error) {
    if (isCorrupt(codeOf(error))) throw corruptError(databaseFile, String(error));
    throw error;
  }
}

/**
 * A command may be newer than the running gateway, whose statements would not fit the new schema. A gateway holds the
 * folder's lock, and has upgraded the schema itself if it is of the same release.
 */
export function migrateUnlessServed(database: Database, folder: DataFolder, options: MigrationOptions): void {
  const version = schemaVersion(database);
  const knownVersion = (options.migrations ?? migrations).length;
  const isOlder = version > 0 && version <= knownVersion && !isCurrent(database, options.migrations);
  const lock = isOlder ? tryLock(folder) : null;
  if (isOlder && lock === null) throw olderGateway(folder.dir, version, knownVersion);
  try {
    migrate(database, options);
  } finally {
    lock?.release();
  }
}

function olderGateway(dir: string, version: number, wanted: number): StoreError {
  return new StoreError(
    "in_use",
    `The gateway running on ${dir} is an older release (schema ${version}; this one has ${wanted}). ` +
      "Nothing was changed. Restart it with this release, or use its own release for this command.",
  );
}

/** Cleans up after a crash: orphaned parts of responses. */
function tidyUp(database: Database): Promise<void> {
  const tidy = database.transaction(() => {
    // Parts without a response: the process ended before it.
    database.run(
      `DELETE FROM response_parts WHERE recording_id NOT IN
        (SELECT recording_id FROM responses WHERE recording_id IS NOT NULL
        UNION ALL SELECT recording_id FROM turns WHERE recording_id IS NOT NULL)`,
    );
  });
  return patiently(operatorTimeoutMs, () => tidy.immediate());
}
