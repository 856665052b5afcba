import { mkdirSync, writeFileSync } from "node:fs";
import { openConnection } from "../../../src/store/sqlite/connection.ts";
import { dataFolder } from "../../../src/store/sqlite/files/folder.ts";
import { migrate } from "../../../src/store/sqlite/migrate.ts";

let bytes: Uint8Array | undefined;

/** Puts a database that was never used into a new data folder. All migrations take 25 ms, and a copy of what they have made takes one. */
export function putEmptyLedger(dir: string): void {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  bytes ??= makeLedger(dir);
  writeFileSync(dataFolder(dir).databaseFile, bytes, { mode: 0o600 });
}

function makeLedger(dir: string): Uint8Array {
  const file = dataFolder(dir).databaseFile;
  using database = openConnection(file, { busyTimeoutMs: 0 });
  migrate(database, { file, nowMs: 0 });
  return database.serialize();
}
