import type { Command } from "commander";
import { plural } from "../../../base/text/plural.ts";
import { chosenTime, rangeQuery } from "../../chosen-time.ts";
import { type DataOptions, newOperationCommand } from "../../help.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { CommandError, type Terminal } from "../../terminal/terminal.ts";
import { filterQuery, type RequestFilters, withRequestFilters } from "./filters.ts";

interface ExportOptions extends DataOptions, RequestFilters {
  readonly content?: true;
  readonly jsonl?: true;
}

export function requestsExportCommand(terminal: Terminal): Command {
  const summary = "Write recorded requests and responses, one JSON object per line";
  const command = newOperationCommand("export", summary)
    .option("--content", "export the recorded content (required)")
    .option("--jsonl", "one JSON object per line (the only format)");
  return withRequestFilters(command)
    .examples(["sluice requests export --content --since 7d --jsonl > requests.jsonl", "for evaluations"])
    .action(async (options: ExportOptions) => {
      if (options.content !== true)
        throw new CommandError(
          "pass --content; to export the list of requests, use `sluice requests list --csv`",
        );
      await withOperations(terminal, options, { content: "documents" }, async (client) => {
        const query = { ...filterQuery(options), ...rangeQuery(chosenTime(options, Date.now())) };
        const decoder = new TextDecoder();
        let exported = 0;
        for await (const chunk of client.stream("/content/export", query)) {
          await terminal.write(decoder.decode(chunk, { stream: true }));
          exported += chunk.filter((byte) => byte === newline).length;
        }
        terminal.note(terminal.noteStyle.dim(`  ${plural(exported, "request")} exported`));
      });
    });
}

const newline = "\n".charCodeAt(0);
