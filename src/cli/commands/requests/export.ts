import type { Command } from "commander";
import { requestedLabels } from "../../../admin/requests/find-exchanges.ts";
import { plural } from "../../../base/text/plural.ts";
import { chosenTime } from "../../chosen-time.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { withContent } from "../../open-content.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { CommandError, type Terminal } from "../../terminal/terminal.ts";
import { type RequestFilters, withRequestFilters } from "./filters.ts";

interface ExportOptions extends DataOptions, RequestFilters {
  readonly content?: true;
  readonly jsonl?: true;
}

export function requestsExportCommand(terminal: Terminal): Command {
  const command = newDataCommand("export", "Write recorded requests and responses, one JSON object per line")
    .option("--content", "export the recorded content (required)")
    .option("--jsonl", "one JSON object per line (the only format)");
  return withRequestFilters(command)
    .examples(["sluice requests export --content --since 7d --jsonl > requests.jsonl", "for evaluations"])
    .action(async (options: ExportOptions) => {
      if (options.content !== true)
        throw new CommandError(
          "pass --content; to export the list of requests, use `sluice requests list --csv`",
        );
      const { findKey } = await import("../../../admin/keys/find-key.ts");
      const { exportContent, filterText } = await import("../../../admin/content/content.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { search, outcome, code, model, provider, route } = options;
        const keyId = options.key === undefined ? undefined : (await findKey(context, options.key)).id;
        const { sinceMs, untilMs } = chosenTime(options, context.clock.wallMs());
        const labels = requestedLabels(options);
        const filter = { search, outcome, code, model, provider, route, keyId, labels, sinceMs, untilMs };
        await withContent(context, options, terminal, async (archive) => {
          const audit = (action: string, detail: string) =>
            auditChange(context, action, { prefix: "" }, detail);
          await audit("content.export", filterText(filter));
          let exported = 0;
          for await (const { lines, count } of exportContent(context, archive, filter)) {
            await terminal.write(Buffer.from(lines).toString());
            exported += count;
          }
          await audit("content.exported", `${plural(exported, "request")}: ${filterText(filter)}`);
          terminal.note(terminal.noteStyle.dim(`  ${plural(exported, "request")} exported`));
        });
      });
    });
}
