import type { AlertView } from "../../admin/system/alert-schema.ts";
import { printable } from "../../base/text/printable.ts";
import { option } from "../help.ts";
import type { OperationClient } from "../operations/client.ts";
import { list } from "../operations/operation-command.ts";
import { servedAddress } from "../serve/files-for-commands.ts";
import { type ListColumn, timeColumn } from "../terminal/list.ts";
import { CommandFailed, type Terminal } from "../terminal/terminal.ts";

export const statusCommand = list<AlertView, object, { check?: true; past?: true }>({
  name: "status",
  summary: "Show active alerts, the most urgent first",
  call: "GET /alerts",
  extras: {
    past: option("--past", "alerts that were resolved within 90 days, the latest first"),
    check: option(
      "--check",
      "exit with 1 if an alert is critical or a warning, and not acknowledged, or if the gateway of this folder does not run (default: always 0)",
    ),
  },
  examples: [
    ["sluice status", "failing providers, low balances, expiring keys, …"],
    ["sluice status --past", "what was resolved"],
    ["sluice status --json", "as JSON"],
    ["sluice status --check || page-oncall", "exit status 1 unless all alerts are informational"],
  ],
  // A gateway checks its alerts now, which it otherwise does every five seconds.
  input: ({ past }) => (past ? { past: true } : { now: true }),
  columns: (_, { terminal, given }) => columnsOf(terminal, given.past === true),
  nothing: ({ terminal, given }) =>
    given.past ? "no past alerts" : `${terminal.style.good("✓")} no active alerts`,
  after(alerts, { client, given, terminal }) {
    if (given.past) return;
    const stopped = stoppedFolder(client);
    if (stopped !== null)
      terminal.note(
        `${terminal.noteStyle.warn("!")} no gateway runs on ${stopped}; alerts about providers are not checked`,
      );
    const isOpen = ({ severity, acknowledged }: AlertView) => severity !== "info" && acknowledged === null;
    if (given.check && (stopped !== null || alerts.some(isOpen))) throw new CommandFailed();
  },
});

/** The data folder, if a gateway has run on it and none does now. With a database, other gateways may run elsewhere. */
function stoppedFolder({ gateway, place }: OperationClient): string | null {
  if (gateway !== null || !("data_folder" in place)) return null;
  return servedAddress(place.data_folder) === null ? null : place.data_folder;
}

function columnsOf({ style }: Terminal, isPast: boolean): readonly ListColumn<AlertView>[] {
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
    timeColumn("since", "SINCE (UTC)"),
    isPast ? timeColumn("resolved_at", "RESOLVED (UTC)") : { name: "resolved_at" },
  ];
}
