import type { Command } from "commander";
import type { AlertView } from "../../admin/system/alert-schema.ts";
import { printable } from "../../base/text/printable.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../help.ts";
import { type StoreContext, withStore } from "../open-store.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { CommandFailed, moment, type Terminal } from "../terminal/terminal.ts";

interface Options extends DataOptions, CsvOption {
  readonly check?: true;
}

export function statusCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("status", "Show active alerts, the most urgent first"))
    .option(
      "--check",
      "exit with 1 if an alert is critical or a warning, and not acknowledged, or if the gateway of this folder does not run (default: always 0)",
    )
    .examples(
      ["sluice status", "failing providers, low balances, expiring keys, …"],
      ["sluice status --json", "as JSON"],
      ["sluice status --check || page-oncall", "exit status 1 unless all alerts are informational"],
    )
    .action(async (options: Options) => {
      const { readAlertViews } = await import("../../admin/system/list-alerts.ts");
      await withStore(terminal, options, {}, async (context) => {
        const runs = await isCurrent(context);
        const alerts = await readAlertViews(context);
        const nothing = `${terminal.style.good("✓")} no active alerts`;
        printList({ rows: alerts, columns: columnsOf(terminal), nothing }, options, terminal);
        const isOpen = ({ severity, acknowledged }: AlertView) =>
          severity !== "info" && acknowledged === null;
        if (!runs)
          terminal.note(
            `${terminal.noteStyle.warn("!")} no gateway runs on ${context.dir}; alerts about providers are not checked`,
          );
        if (options.check && (!runs || alerts.some(isOpen))) throw new CommandFailed();
      });
    });
}

/**
 * Lets the gateway on this machine check its alerts, which it otherwise does every five seconds. False if one has run on the data
 * folder and none does now. With a database, other gateways may run elsewhere.
 */
async function isCurrent({ dir, place }: StoreContext): Promise<boolean> {
  const { askGateway } = await import("../serve/gateway-request.ts");
  const { servedAddress, servedPid } = await import("../serve/files-for-commands.ts");
  if (servedPid(dir) !== null && (await askGateway(dir, "checkAlerts", {})) !== null) return true;
  return servedAddress(dir) === null || "store" in place;
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
