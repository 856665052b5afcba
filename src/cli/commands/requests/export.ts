import { plural } from "../../../base/text/plural.ts";
import { option } from "../../help.ts";
import { exported } from "../../operations/operation-command.ts";
import { CommandError } from "../../terminal/terminal.ts";
import { filterQuery, type RequestFilters, requestFilters } from "./filters.ts";

interface Format {
  readonly content?: true;
  readonly jsonl?: true;
}

export const requestsExportCommand = exported<RequestFilters, Format>({
  name: "export",
  summary: "Write recorded requests and responses, one JSON object per line",
  call: "GET /content/export",
  content: () => "documents",
  extras: {
    content: option("--content", "export the recorded content (required)"),
    jsonl: option("--jsonl", "one JSON object per line (the only format)"),
  },
  fields: requestFilters,
  examples: [["sluice requests export --content --since 7d --jsonl > requests.jsonl", "for evaluations"]],
  check({ content }) {
    if (content === true) return;
    throw new CommandError(
      "pass --content; to export the list of requests, use `sluice requests list --csv`",
    );
  },
  input: ({ content: _, jsonl: __, ...filters }, { nowMs }) => filterQuery(filters, nowMs),
  after: ({ lines }, { terminal }) =>
    terminal.note(terminal.noteStyle.dim(`  ${plural(lines, "request")} exported`)),
});
