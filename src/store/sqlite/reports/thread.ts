import { assert } from "../../../base/assert.ts";
import { codeOf } from "../connection.ts";
import { ReportsFile } from "./reports-file.ts";
import type { FromReportThread, ToReportThread } from "./thread-messages.ts";

/** Entry point of the thread that runs reports, so that one of any length delays no stream. */
declare const self: Worker;

/** The event loop takes this many rows at once in 1 to 2 ms. */
const rowsPerMessage = 500;

let file: ReportsFile | null = null;
let rest: unknown[] = [];

self.onmessage = (event: MessageEvent<ToReportThread>) => {
  self.postMessage(answer(event.data));
};

function answer(message: ToReportThread): FromReportThread {
  try {
    perform(message);
    const rows = rest.splice(0, rowsPerMessage);
    return { kind: "done", rows, isComplete: rest.length === 0 };
  } catch (error) {
    return {
      kind: "failed",
      code: codeOf(error),
      message: error instanceof Error ? error.message : String(error),
    };
  }
}

function perform(message: ToReportThread): void {
  if (message.kind === "open") {
    file ??= new ReportsFile(message.dir);
    return;
  }
  assert(file !== null, "the thread of reports must be opened first");
  switch (message.kind) {
    case "rows":
      rest = file.rows(message.text, message.parameters);
      return;
    case "compare":
      rest = [file.compareCosts(message.query, message.prices)];
      return;
    case "more":
      return;
    case "begin":
      file.begin();
      return;
    case "end":
      file.end();
      return;
    case "fold":
      file.fold();
      return;
    case "close":
      file.close();
      file = null;
  }
}
