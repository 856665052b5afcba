import type { Database } from "bun:sqlite";
import type { Clock } from "../../../src/base/clock.ts";
import { Checkpointer } from "../../../src/store/sqlite/log/checkpointer.ts";
import { LogSync } from "../../../src/store/sqlite/log/log-sync.ts";
import { openUnlocked } from "../../../src/store/sqlite/open.ts";
import type { SqliteStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { SqliteWriter } from "../../../src/store/sqlite/writers/sqlite-writer.ts";
import type { WrapWriter } from "../kind.ts";

/** A gateway's store without the folder's lock, so that a test can leave it behind as a crash would. */
export function openGatewayStore(dir: string, clock: Clock, wrapWriter?: WrapWriter): Promise<SqliteStore> {
  return openUnlocked({ dir, clock, role: "gateway" }, () => {}, wrapWriter);
}

/** A writer on a connection of the test's own. */
export function sqliteWriter(database: Database): SqliteWriter {
  const sync = new LogSync(database.filename);
  return new SqliteWriter(database, { sync, checkpoints: new Checkpointer({ database, log: sync }) });
}
