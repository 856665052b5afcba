import type { Command } from "commander";
import { plural } from "../../../base/text/plural.ts";
import { pastTime } from "../../arguments.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { contentLocation } from "../../open-content.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { printDone, type Terminal } from "../../terminal/terminal.ts";

interface DeleteOptions extends DataOptions, YesOption {
  readonly key?: string;
  readonly owner?: string;
  readonly before?: number;
}

export function contentDeleteCommand(terminal: Terminal): Command {
  return newDataCommand("delete", "Delete recorded content")
    .argument("[ids...]", "the ids of requests")
    .option("--key <key>", "all requests of this key, by id, prefix or label")
    .option("--owner <name>", "all requests of this owner's keys")
    .option("--before <when>", "all requests that started before this time", pastTime)
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice content delete req_0f3K9xTz --yes", "one request"],
      ["sluice content delete --owner ada@example.com", "everything of one person"],
    )
    .action(async (ids: string[], options: DeleteOptions) => {
      const { deleteContent, filterText } = await import("../../../admin/content/content.ts");
      const { openContentStore } = await import("../../../store/open-content.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { key, owner, before: beforeMs } = options;
        const filter = { ids, key, owner, beforeMs };
        const what = filterText(filter);
        const question = `This permanently deletes recorded content (${what}). Delete it?`;
        if (what !== "all") await confirm(question, options, terminal);
        const store = await openContentStore(await contentLocation(context, options, terminal));
        try {
          const deleted = await deleteContent(context, store, filter);
          const target = { prefix: ids.length === 1 ? (ids[0] ?? "") : "" };
          await auditChange(context, "content.delete", target, `${plural(deleted, "request")}: ${what}`);
          const message = `The content of ${plural(deleted, "request")} is deleted.`;
          printDone(options.json, { deleted }, message, terminal);
        } finally {
          await store.close();
        }
      });
    });
}
