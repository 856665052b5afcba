import type { Database } from "bun:sqlite";
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Store, StoreStats } from "../store.ts";
import type { BatchWriter } from "./batch-writer.ts";
import { codeOf, corruptRefusal, isCorrupt, openConnection, patiently } from "./connection.ts";
import { createFolder, type DataFolder, dataFolder, lockFolder } from "./folder.ts";
import { InlineWriter } from "./inline-writer.ts";
import { checkIntegrity } from "./integrity.ts";
import { Journal } from "./journal.ts";
import { migrate } from "./migrate.ts";
import { refuseMissingLedger } from "./missing-ledger.ts";
import { DiskReserve } from "./reserve.ts";
import { ResponseTable } from "./response-table.ts";
import { catchUpRollup } from "./rollup.ts";
import { SqliteStore } from "./sqlite-store.ts";
import { ThreadWriter } from "./thread-writer.ts";

export interface OpenOptions {
  readonly dir: string;
  readonly clock: Clock;
  /**
   * `gateway` charges, and there is only one of them per folder; `operator` reads, and changes keys and balances
   * while a gateway may be running.
   */
  readonly role: "gateway" | "operator";
  /** Where batches are written: here, in a thread of their own, or by what the disk turns out to be. */
  readonly journal?: "inline" | "thread" | "measure";
}

/** SQLite waits for a lock by blocking the thread; what takes longer than this waits asynchronously. */
const busyTimeoutMs = 3;
const operatorPatienceMs = 10_000;
/** A disk that needs longer than this for an fsync gets a thread of its own. */
const slowDiskMs = 1;

export async function openSqliteStore(options: OpenOptions): Promise<Store> {
  const folder = dataFolder(options.dir);
  if (options.role === "operator") return openUnlocked(options, () => {});
  const lock = await lockFolder(folder);
  try {
    return await openUnlocked(options, () => lock.release());
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** `wrapWriter` lets tests stand between the journal and the disk. */
export async function openUnlocked(
  options: OpenOptions,
  onClose: () => void,
  wrapWriter: (writer: BatchWriter) => BatchWriter = (writer) => writer,
): Promise<Store> {
  const folder = dataFolder(options.dir);
  refuseMissingLedger(folder);
  createFolder(folder);
  const database = await openChecked(folder, options.clock);
  const stats: StoreStats = {
    batches: 0,
    items: 0,
    failedBatches: 0,
    lastBatchItems: 0,
    lastBatchMs: 0,
    pendingItems: 0,
    journal: "inline",
  };
  if (options.role === "operator") {
    return new SqliteStore({ database, journal: null, stats, patienceMs: operatorPatienceMs, onClose });
  }
  await tidyUp(database);
  stats.journal = chooseJournal(options.journal ?? "measure", folder);
  const writer =
    stats.journal === "thread" ? await ThreadWriter.open(folder.databaseFile) : new InlineWriter(database);
  const reserve = new DiskReserve(folder.reserveFile);
  reserve.fill();
  const journal = new Journal(wrapWriter(writer), stats, reserve);
  return new SqliteStore({
    database,
    journal,
    stats,
    patienceMs: operatorPatienceMs,
    onClose: () => {
      reserve.close();
      onClose();
    },
  });
}

async function openChecked({ databaseFile }: DataFolder, clock: Clock): Promise<Database> {
  try {
    return await patiently(operatorPatienceMs, () => {
      const database = openConnection(databaseFile, { busyTimeoutMs });
      try {
        checkIntegrity(database, databaseFile);
        migrate(database, { file: databaseFile, nowMs: clock.wallMs() });
        return database;
      } catch (error) {
        database.close();
        throw error;
      }
    });
  } catch (error) {
    if (isCorrupt(codeOf(error))) throw corruptRefusal(databaseFile, String(error));
    throw error;
  }
}

/** What a crash may have left behind that nobody else would finish. */
function tidyUp(database: Database): Promise<void> {
  const tidy = database.transaction(() => {
    new ResponseTable(database).deleteOrphans();
    catchUpRollup(database);
  });
  return patiently(operatorPatienceMs, () => tidy.immediate());
}

function chooseJournal(wanted: "inline" | "thread" | "measure", folder: DataFolder): "inline" | "thread" {
  if (wanted !== "measure") return wanted;
  return usualSyncMs(join(folder.dir, "sluice.probe")) > slowDiskMs ? "thread" : "inline";
}

/**
 * A commit is one append and one sync of the write-ahead log; this is the same on a scratch file. The third best of
 * nine, because a neighbour who is busy just now makes several of them slow, and the choice stays for good.
 */
function usualSyncMs(file: string): number {
  const page = new Uint8Array(4096);
  const descriptor = openSync(file, "w", 0o600);
  try {
    const tookMs = Array.from({ length: 9 }, () => {
      const startedMs = performance.now();
      writeSync(descriptor, page);
      fdatasyncSync(descriptor);
      return performance.now() - startedMs;
    });
    return tookMs.sort((a, b) => a - b)[2] ?? 0;
  } finally {
    closeSync(descriptor);
    rmSync(file, { force: true });
  }
}
