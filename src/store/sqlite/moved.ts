import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { type Moved, movedRefusal } from "../moved.ts";
import { StoreRefusal } from "../store.ts";
import { openConnection } from "./connection.ts";
import { type DataFolder, dataFolder } from "./files/folder.ts";
import { migrations, refuseNewer, schemaVersion } from "./migrate.ts";

const busyTimeoutMs = 10_000;

function readMoved(database: Database): Moved | null {
  const read = database.query<{ to: string | null; atMs: number }, []>(
    `SELECT moved_to AS "to", moved_at_ms AS atMs FROM state`,
  );
  const { to = null, atMs = 0 } = read.get() ?? {};
  return to === null ? null : { to, atMs };
}

export function markMoved(database: Database, moved: Moved | null): void {
  database
    .query("UPDATE state SET moved_to = ?, moved_at_ms = ?")
    .run(moved?.to ?? null, moved?.atMs ?? null);
}

export function refuseMoved(database: Database, dir: string): void {
  const moved = readMoved(database);
  if (moved !== null) throw movedRefusal(dir, moved);
}

/** Null if the data is in use, or of a release that moved none. */
export function readMovedFrom(dir: string): Moved | null {
  return withDatabase(dir, (database) =>
    schemaVersion(database) < migrations.length ? null : readMoved(database),
  );
}

export function reopen(dir: string): void {
  withDatabase(dir, (database) => markMoved(database, null));
}

function withDatabase<Result>(dir: string, work: (database: Database) => Result): Result {
  const { databaseFile }: DataFolder = dataFolder(dir);
  if (!existsSync(databaseFile)) throw new StoreRefusal("ledger_missing", `There is no data in ${dir}.`);
  const database = openConnection(databaseFile, { busyTimeoutMs });
  try {
    refuseNewer(schemaVersion(database), migrations.length, databaseFile);
    return work(database);
  } finally {
    database.close();
  }
}
