import type { Database } from "bun:sqlite";
import { assert } from "../../../base/assert.ts";
import { reasonOf } from "../../journal/batch-writer.ts";
import { openConnection } from "../connection.ts";
import { InlineWriter } from "./inline-writer.ts";
import { type FromThread, type ToThread, unpack } from "./thread-messages.ts";

/** Entry point of the writer thread. Waiting for a lock may block here, because nothing else runs on this thread. */
const busyTimeoutMs = 250;
/** The journal retries a batch after a lock, but does not retry opening the thread. */
const busyTimeoutAtOpeningMs = 10_000;

declare const self: Worker;

let database: Database | null = null;
let writer: InlineWriter | null = null;

self.onmessage = (event: MessageEvent<ToThread>) => {
  self.postMessage(answer(event.data));
};

function answer(question: ToThread): FromThread {
  try {
    serve(question);
    return { kind: "done", commitMs: writer?.lastCommitMs ?? 0 };
  } catch (error) {
    return { kind: "failed", reason: reasonOf(error), message: String(error) };
  }
}

function serve(question: ToThread): void {
  if (question.kind === "open") {
    database = openConnection(question.file, { busyTimeoutMs: busyTimeoutAtOpeningMs });
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    writer = new InlineWriter(database);
    return;
  }
  assert(writer !== null, "the writer thread must be opened first");
  if (question.kind === "write") {
    writer.write(unpack(question.items), question.rollUp);
    return;
  }
  writer.close();
  database?.close();
}
