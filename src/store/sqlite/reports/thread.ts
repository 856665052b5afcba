import { assert } from "../../../base/assert.ts";
import { serveRequests } from "../../../base/threads/worker-thread.ts";
import { ReportsFile } from "./reports-file.ts";
import type { ReportQuestion, ReportRows } from "./thread-messages.ts";

/** The event loop takes this many rows at once in 1 to 2 ms. */
const rowsPerMessage = 500;

let file: ReportsFile | null = null;
let rest: unknown[] = [];

/** Entry point of the thread that runs reports, so that one of any length delays no stream. */
serveRequests((question: ReportQuestion): ReportRows => {
  perform(question);
  const rows = rest.splice(0, rowsPerMessage);
  return { rows, isComplete: rest.length === 0 };
});

function perform(message: ReportQuestion): void {
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
    case "check":
      rest = [...file.findDamage()];
      return;
    case "close":
      file.close();
      file = null;
  }
}
