import type { Command } from "commander";
import { iso } from "../../admin/moments.ts";
import type { AuditView } from "../../admin/system/schema.ts";
import { printable } from "../../base/text/printable.ts";
import { atLeastOne, since } from "../arguments.ts";
import type { TimeOptions } from "../chosen-time.ts";
import { type CsvOption, type DataOptions, newOperationCommand, withCsv } from "../help.ts";
import { withOperations } from "../operations/with-operations.ts";
import { csvOnly, type ListColumn, printList } from "../terminal/list.ts";
import { second, type Terminal } from "../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption, TimeOptions {
  readonly search?: string;
  readonly limit?: number;
}

const defaultLimit = 50;

export function auditLogCommand(terminal: Terminal): Command {
  const when = "24h, 7d, yesterday, 2026-10, a date or a time";
  return withCsv(newOperationCommand("audit-log", "List who changed what, newest first"))
    .option("--search <text>", "match any text: actor, address, action, target or detail")
    .option("--since <when>", `${when} (default: all)`, (text) => since(text))
    .option("--until <when>", "only changes before, in the same format", (text) => since(text))
    .option("--limit <n>", `maximum number of rows (default: ${defaultLimit})`, atLeastOne)
    .examples(
      ["sluice audit-log --since 24h", "what was changed today, by whom, and from where"],
      ["sluice audit-log --search ada@example.com --csv", "what Ada did"],
      ["sluice audit-log --search price.change", "when a price has changed"],
    )
    .addHelpText("after", "\nTo verify the ledger itself, run `sluice ledger audit`.")
    .action(async (options: Options) => {
      const { search, since, until, limit = defaultLimit } = options;
      await withOperations(terminal, options, {}, async (client) => {
        const range = { since: since && iso(since), until: until && iso(until) };
        const rows = await client.list<AuditView>("/audit", { search, ...range }, limit);
        printList({ rows, columns, nothing: "No matching changes." }, options, terminal);
      });
    });
}

const columns: readonly ListColumn<AuditView>[] = [
  { name: "id" },
  { name: "at", title: "TIME (UTC)", cell: ({ at }) => second(Date.parse(at)) },
  { name: "actor", title: "ACTOR", elastic: true, cell: ({ actor }) => printable(actor) },
  { name: "address", title: "FROM", elastic: true, cell: ({ address }) => printable(address) },
  { name: "action", title: "ACTION" },
  {
    name: "target",
    title: "TO",
    elastic: true,
    cell: ({ target, target_label: label }) => printable(label ?? target ?? "–"),
  },
  ...csvOnly("target_label"),
  { name: "detail", title: "DETAIL", elastic: true, cell: ({ detail }) => printable(detail ?? "–") },
];
