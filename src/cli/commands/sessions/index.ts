import type { Command } from "commander";
import type { SessionListView, SessionsEndedView } from "../../../admin/auth/session-list.ts";
import { plural } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type CsvOption, type DataOptions, group, newOperationCommand, withCsv } from "../../help.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { moment, printJson, type Terminal } from "../../terminal/terminal.ts";

/** Sign-ins to the dashboard and the self-service page. */
export function sessionsCommands(terminal: Terminal): Command {
  return group("sessions", "See who is signed in, and sign people out", [
    listCommand(terminal),
    endCommand(terminal),
  ]);
}

function listCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("list", "List who is signed in to the dashboard"))
    .examples("sluice sessions list")
    .action(async (options: DataOptions & CsvOption) => {
      await withOperations(terminal, options, {}, async (client) => {
        const rows = await client.list<SessionListView>("/sessions");
        const hasNone = client.gateway === null && "data_folder" in client.place;
        const nothing = hasNone
          ? `No gateway runs on ${client.name}, so there are no sessions.`
          : "No sessions.";
        printList({ rows, columns, nothing }, options, terminal);
      });
    });
}

const columns: readonly ListColumn<SessionListView>[] = [
  { name: "name", title: "WHO", elastic: true, cell: ({ name }) => printable(name) },
  { name: "issuer", title: "SIGNED IN AT", elastic: true, cell: ({ issuer }) => printable(issuer ?? "–") },
  { name: "began_at", title: "SINCE (UTC)", cell: ({ began_at: at }) => moment(Date.parse(at)) },
  { name: "ends_at", title: "UNTIL (UTC)", cell: ({ ends_at: at }) => moment(Date.parse(at)) },
];

interface EndOptions extends DataOptions, YesOption {
  readonly person: string;
  readonly tokens?: true;
}

function endCommand(terminal: Terminal): Command {
  return newOperationCommand("end", "Sign a person out of the dashboard, on every gateway")
    .requiredOption("--person <name>", "the person, as in the list")
    .option("--tokens", "also revoke the admin tokens that the person created")
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice sessions end --person ada@example.com", "asks first"],
      ["sluice sessions end --person ada@example.com --tokens --yes", "when Ada leaves the company"],
    )
    .action(async ({ person, tokens, ...options }: EndOptions) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        const what = tokens ? "All sessions and admin tokens" : "All sessions";
        await confirm(`${what} of ${person} will end. Continue?`, options, terminal);
        const body = { person, tokens: tokens === true };
        const ended = await client.post<SessionsEndedView>("/sessions/end", body);
        if (options.json) return printJson(ended, terminal);
        const { sessions, tokens: revoked } = ended;
        const also =
          revoked.length === 0
            ? ""
            : `, and ${plural(revoked.length, "admin token")} revoked: ${revoked.join(", ")}`;
        terminal.print(printable(`${plural(sessions, "session")} of ${person} ended${also}.`));
      });
    });
}
