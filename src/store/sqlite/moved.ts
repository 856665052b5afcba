import type { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { type MovedStore, markMoved, readMoved } from "../moved.ts";
import { StoreError } from "../store.ts";
import { openConnection } from "./connection.ts";
import { dataFolder } from "./files/folder.ts";
import { isCurrent, rejectOtherSchema } from "./migrate.ts";
import { perform } from "./queries.ts";

const busyTimeoutMs = 10_000;

/** Null if the data is in use here, or its release could not move data yet. */
export function readMovedFrom(dir: string): MovedStore | null {
  return withDatabase(dir, (database) => (isCurrent(database) ? perform(database, readMoved()) : null));
}

export function reopen(dir: string): void {
  withDatabase(dir, (database) => perform(database, markMoved(null)));
}

function withDatabase<Result>(dir: string, work: (database: Database) => Result): Result {
  const { databaseFile } = dataFolder(dir);
  if (!existsSync(databaseFile))
    throw new StoreError("ledger_missing", `The data folder ${dir} has no data.`);
  const database = openConnection(databaseFile, { busyTimeoutMs });
  try {
    rejectOtherSchema(database, databaseFile);
    return work(database);
  } finally {
    database.close();
  }
}
