import type { Database } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { serveRequests } from "../../../base/threads/worker-thread.ts";
import { openConnection, readPragma } from "../connection.ts";
import { type CheckpointStep, checkpoint, type LogState } from "./checkpointer.ts";

/** Entry point of the checkpoint thread. Waiting may block here, because nothing else runs on this thread. */
const busyTimeoutMs = 250;
/** A reader prevents the log from restarting. Most reads are brief. */
const maxRestarts = 5;

let database: Database | null = null;

serveRequests(perform);

function perform(step: CheckpointStep): LogState {
  if (step.kind === "open") {
    database = openConnection(step.file, { busyTimeoutMs });
    return checkpoint(database, "NOOP");
  }
  assert(database !== null, "the checkpoint thread must be opened first");
  if (step.kind === "copy") return checkpoint(database, "PASSIVE");
  if (step.kind === "restart") return restart(database);
  database.close();
  return { frames: 0, copied: 0 };
}

/**
 * The first write after everything was copied restarts the log, and waits for the disk before it continues. This
 * thread does that write, so that the event loop does not wait.
 */
function restart(database: Database): LogState {
  for (let tries = 1; ; tries += 1) {
    const { frames, copied } = checkpoint(database, "PASSIVE");
    if (copied < frames) return { frames, copied };
    rewriteFirstPage(database);
    const log = checkpoint(database, "NOOP");
    if (log.frames < frames || tries === maxRestarts) return log;
  }
}

/** Writes a page without changing anything. */
function rewriteFirstPage(database: Database): void {
  const write = database.transaction(() => {
    database.run(`PRAGMA user_version = ${Number(readPragma(database, "user_version"))}`);
  });
  write.immediate();
}
