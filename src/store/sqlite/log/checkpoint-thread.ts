import type { Database } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { codeOf, openConnection, readPragma } from "../connection.ts";
import type { FromThread, LogState, ToThread } from "./checkpoint-messages.ts";
import { checkpoint } from "./log-state.ts";

/** Entry point of the checkpoint thread. Waiting may block here, because nothing else runs on this thread. */
const busyTimeoutMs = 250;
/** A reader of the log keeps it from beginning again. Most read for a moment. */
const mostRestarts = 5;

declare const self: Worker;

let database: Database | null = null;

self.onmessage = (event: MessageEvent<ToThread>) => {
  self.postMessage(answer(event.data));
};

function answer(question: ToThread): FromThread {
  try {
    return { kind: "done", log: serve(question) };
  } catch (error) {
    return { kind: "failed", code: codeOf(error), message: String(error) };
  }
}

function serve(question: ToThread): LogState {
  if (question.kind === "open") {
    database = openConnection(question.file, { busyTimeoutMs });
    return checkpoint(database, "NOOP");
  }
  assert(database !== null, "the checkpoint thread must be opened first");
  if (question.kind === "copy") return checkpoint(database, "PASSIVE");
  if (question.kind === "restart") return restart(database);
  database.close();
  return { frames: 0, copied: 0 };
}

/**
 * The first to write after all was copied begins the log again, and waits for the disk before it writes anything else. This writes,
 * so that the event loop does not have to.
 */
function restart(database: Database): LogState {
  for (let tries = 1; ; tries += 1) {
    const { frames, copied } = checkpoint(database, "PASSIVE");
    if (copied < frames) return { frames, copied };
    rewriteFirstPage(database);
    const log = checkpoint(database, "NOOP");
    if (log.frames < frames || tries === mostRestarts) return log;
  }
}

/** Writes a page, and changes nothing. */
function rewriteFirstPage(database: Database): void {
  const write = database.transaction(() => {
    database.run(`PRAGMA user_version = ${Number(readPragma(database, "user_version"))}`);
  });
  write.immediate();
}
