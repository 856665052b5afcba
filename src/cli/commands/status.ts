import type { Command } from "commander";
import type { FindingView } from "../../admin/system/alert-schema.ts";
import { printable } from "../../base/text/printable.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../help.ts";
import { withStore } from "../open-store.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { CommandFailed, moment, type Terminal } from "../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption {
  readonly check?: true;
}

export function statusCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("status", "List what needs attention, the most urgent first"))
    .option("--check", "exit with 1 if a line is critical or a warning (default: 0 whatever is listed)")
    .examples(
      ["sluice status", "failing providers, balances that run low, keys that expire, …"],
      ["sluice status --json", "the same for programs"],
      ["sluice status --check || page-somebody", "exit status 1 if anything is more than information"],
    )
    .action(async (options: Options) => {
      const { readAttention } = await import("../../admin/system/list-alerts.ts");
      await withStore(terminal, options, {}, async (context) => {
        const findings = await readAttention(context);
        const nothing = `${terminal.style.good("✓")} nothing needs attention`;
        printList({ rows: findings, columns: columnsOf(terminal), nothing }, options, terminal);
        if (options.check && findings.some(({ severity }) => severity !== "info")) throw new CommandFailed();
      });
    });
}

function columnsOf({ style }: Terminal): readonly ListColumn<FindingView>[] {
  return [
    {
      name: "severity",
      title: "SEVERITY",
      cell: ({ severity }) =>
        ({ critical: style.bad, warning: style.warn, info: style.dim })[severity](severity),
    },
    { name: "kind", title: "KIND" },
    {
      name: "text",
      title: "WHAT",
      elastic: true,
      cell: ({ text, last_words: words }) => printable(words === null ? text : `${text} It said: ${words}`),
    },
    { name: "last_words" },
    { name: "next", title: "NEXT" },
    {
      name: "since",
      title: "SINCE (UTC)",
      cell: ({ since }) => (since === null ? style.dim("–") : moment(Date.parse(since))),
    },
  ];
}
