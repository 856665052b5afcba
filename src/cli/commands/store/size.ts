import { existsSync } from "node:fs";
import type { Command } from "commander";
import type { StorageView } from "../../../admin/system/schema.ts";
import { count, plural } from "../../../base/text/plural.ts";
import { size } from "../../../base/text/size.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { servedConfig } from "../../serve/files-for-commands.ts";
import { facts } from "../../terminal/list.ts";
import { moment, printJson, type Terminal } from "../../terminal/terminal.ts";

export function storeSizeCommand(terminal: Terminal): Command {
  return newDataCommand("size", "Tell how much is kept, for how long, and what was deleted last")
    .examples(["sluice store size", "the database, its records, and the room that is left"])
    .action(async (options: DataOptions) => {
      const { examineSettings } = await import("../../../config/load.ts");
      const { readStorage } = await import("../../../admin/system/storage.ts");
      const { env, cwd } = terminal;
      await withStore(terminal, options, {}, async ({ store, dir }) => {
        const file = options.config ?? servedFile(dir);
        const { retention } = examineSettings({ file, env, cwd }).settings;
        const storage = await readStorage(store, retention);
        if (options.json) printJson(storage, terminal);
        else terminal.print(facts(factsOf(storage), terminal));
      });
    });
}

/** What the gateway of this data keeps is said by its own configuration, which need not be where the command runs. */
function servedFile(dir: string): string | undefined {
  const file = servedConfig(dir)?.file ?? null;
  return file !== null && existsSync(file) ? file : undefined;
}

function factsOf({ records, retention, pruned, ...sizes }: StorageView): (readonly [string, string])[] {
  const { journal_bytes: journal, disk_free_bytes: free } = sizes;
  const last = (kind: StorageView["pruned"][number]["what"]) => {
    const found = pruned.find(({ what }) => what === kind);
    return found === undefined
      ? ""
      : `; ${count(found.count)} deleted at ${moment(Date.parse(found.at))} UTC`;
  };
  const { request_days: days, request_rows: rows, response_hours: hours } = retention;
  return [
    ["database", size(sizes.database_bytes)],
    ...(journal === null ? [] : [["journal", size(journal)] as const]),
    ...(free === null ? [] : [["disk free", size(free)] as const]),
    ["accounts", count(records.accounts)],
    ["keys", count(records.keys)],
    ["ledger", `${plural(records.ledger_entries, "entry", "entries")}, kept for ever`],
    [
      "exchanges",
      `${count(records.free_exchanges)} that cost nothing, kept for ${plural(days, "day")}, at most ${count(rows)}${last("exchanges")}`,
    ],
    [
      "responses",
      `${count(records.responses)}, ${size(sizes.response_bytes)}, kept for ${plural(hours, "hour")}${last("responses")}`,
    ],
    [
      "for retries",
      `${plural(records.retry_responses, "response")} to requests with an Idempotency-Key, ${size(sizes.retry_response_bytes)}, kept for 24 hours`,
    ],
    ["audit log", plural(records.audit_log, "change")],
  ];
}
