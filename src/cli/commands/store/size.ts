import type { StorageView } from "../../../admin/system/schema.ts";
import { count, plural } from "../../../base/text/plural.ts";
import { size } from "../../../base/text/size.ts";
import { operation } from "../../operations/operation-command.ts";
import { type Facts, facts } from "../../terminal/list.ts";
import { utcMinute } from "../../terminal/terminal.ts";

export const storeSizeCommand = operation<StorageView>({
  name: "size",
  summary: "Show how much is stored, for how long, and what was deleted last",
  call: "GET /storage",
  content: () => "rows",
  examples: [["sluice store size", "database size, records and free disk space"]],
  show: (storage, { terminal }) => terminal.print(facts(factsOf(storage), terminal)),
});

function contentText({ requests, bytes, days, max_bytes: max }: NonNullable<StorageView["content"]>): string {
  const retention = days === 0 ? "recording is off" : `kept for ${plural(days, "day")}, at most ${size(max)}`;
  return `${plural(requests, "request")}, ${size(bytes)}, ${retention}`;
}

function factsOf({ records, retention, pruned, content, ...sizes }: StorageView): Facts {
  const { journal_bytes: journal, disk_free_bytes: free } = sizes;
  const last = (kind: StorageView["pruned"][number]["what"]) => {
    const found = pruned.find(({ what }) => what === kind);
    return found === undefined ? "" : `; ${count(found.count)} deleted at ${utcMinute(found.at)} UTC`;
  };
  const { request_days: days, request_rows: rows, response_hours: hours } = retention;
  return [
    ["database", size(sizes.database_bytes)],
    journal !== null && ["journal", size(journal)],
    free !== null && ["disk free", size(free)],
    ["accounts", count(records.accounts)],
    ["keys", count(records.keys)],
    ["ledger", `${plural(records.ledger_entries, "entry", "entries")}, kept forever`],
    [
      "requests",
      `${count(records.free_requests)} that cost nothing, kept for ${plural(days, "day")}, at most ${count(rows)}${last("requests")}`,
    ],
    [
      "responses",
      `${count(records.responses)}, ${size(sizes.response_bytes)}, kept for ${plural(hours, "hour")}${last("responses")}`,
    ],
    [
      "for retries",
      `${plural(records.retry_responses, "response")} to requests with an Idempotency-Key, ${size(sizes.retry_response_bytes)}, kept for 24 hours`,
    ],
    [
      "batches",
      `${count(records.batches)}, with ${plural(records.files, "file")}, ${size(sizes.file_bytes)}`,
    ],
    content !== null && ["content", contentText(content)],
    ["audit log", plural(records.audit_log, "change")],
  ];
}
