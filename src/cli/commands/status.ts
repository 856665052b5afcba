import type { Command } from "commander";
import type { AlertView } from "../../admin/system/alert-schema.ts";
import { printable } from "../../base/text/printable.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../help.ts";
import { withStore } from "../open-store.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { CommandFailed, moment, type Terminal } from "../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption {
  readonly check?: true;
}

export function statusCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("status", "Show active alerts, the most urgent first"))
    .option(
      "--check",
      "exit with 1 if an alert is critical or a warning, and not acknowledged (default: always 0)",
    )
    .examples(
      ["sluice status", "failing providers, low balances, expiring keys, …"],
      ["sluice status --json", "as JSON"],
      ["sluice status --check || page-oncall", "exit status 1 unless all alerts are informational"],
    )
    .action(async (options: Options) => {
      const { readAlertViews } = await import("../../admin/system/list-alerts.ts");
      await withStore(terminal, options, {}, async (context) => {
        const alerts = await readAlertViews(context);
        const nothing = `${terminal.style.good("✓")} no active alerts`;
        printList({ rows: alerts, columns: columnsOf(terminal), nothing }, options, terminal);
        const isOpen = ({ severity, acknowledged }: AlertView) =>
          severity !== "info" && acknowledged === null;
        if (options.check && alerts.some(isOpen)) throw new CommandFailed();
      });
    });
}

function columnsOf({ style }: Terminal): readonly ListColumn<AlertView>[] {
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
      title: "ALERT",
      elastic: true,
      cell: ({ text, last_error: words, acknowledged: seen }) =>
        printable(
          [
            text,
            ...(words === null ? [] : [`Last error: ${words}`]),
            ...(seen === null ? [] : [`Acknowledged by ${seen.by} until ${seen.until.slice(0, 10)}.`]),
          ].join(" "),
        ),
    },
    { name: "last_error" },
    { name: "next", title: "NEXT" },
    {
      name: "since",
      title: "SINCE (UTC)",
      cell: ({ since }) => (since === null ? style.dim("–") : moment(Date.parse(since))),
    },
  ];
}
