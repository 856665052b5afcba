import type { Command } from "commander";
import type { SessionListView, SessionsEndedView } from "../../../admin/auth/session-list.ts";
import type { Sessions } from "../../../admin/auth/sessions.ts";
import { plural } from "../../../base/text/plural.ts";
import { printable } from "../../../base/text/printable.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { type CsvOption, type DataOptions, group, newDataCommand, withCsv } from "../../help.ts";
import { auditChange, type StoreContext, withStore } from "../../open-store.ts";
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
  return withCsv(newDataCommand("list", "List who is signed in to the dashboard"))
    .examples("sluice sessions list")
    .action(async (options: DataOptions & CsvOption) => {
      const { sessionViews } = await import("../../../admin/auth/session-list.ts");
      const { askGateway } = await import("../../serve/gateway-request.ts");
      await withStore(terminal, options, {}, async (context) => {
        const shared = await sharedSessions(context);
        const sessions =
          shared === null ? await askGateway(context.dir, "listSessions", {}) : await shared.list();
        const nothing =
          sessions === null ? `No gateway runs on ${context.dir}, so there are no sessions.` : "No sessions.";
        const rows = await sessionViews(context, sessions ?? []);
        printList({ rows, columns, nothing }, options, terminal);
      });
    });
}

/** The sessions in the database; null if the gateway has them in its memory. */
async function sharedSessions({ store, clock }: StoreContext): Promise<Sessions | null> {
  if (store.admin.sessions === null) return null;
  const { Sessions } = await import("../../../admin/auth/sessions.ts");
  // Without the admin token it cannot find a session by its id, only list and end them.
  return new Sessions(clock, store.admin.sessions, () => "");
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
  return newDataCommand("end", "Sign a person out of the dashboard, on every gateway")
    .requiredOption("--person <name>", "the person, as in the list")
    .option("--tokens", "also revoke the admin tokens that the person created")
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice sessions end --person ada@example.com", "asks first"],
      ["sluice sessions end --person ada@example.com --tokens --yes", "when Ada leaves the company"],
    )
    .action(async ({ person, tokens, ...options }: EndOptions) => {
      const { endDetail, endSessionsOf, revokeTokensOf } = await import(
        "../../../admin/auth/session-list.ts"
      );
      const { askGateway } = await import("../../serve/gateway-request.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const what = tokens ? "All sessions and admin tokens" : "All sessions";
        await confirm(`${what} of ${person} will end. Continue?`, options, terminal);
        const shared = await sharedSessions(context);
        const sessions =
          shared === null
            ? ((await askGateway(context.dir, "endSessions", { person })) ?? 0)
            : (await endSessionsOf(shared, person)).length;
        const revoked = tokens ? await revokeTokensOf(context, person) : [];
        const ended: SessionsEndedView = { person, sessions, tokens: revoked };
        await auditChange(context, "session.end", { prefix: person }, endDetail(ended));
        if (options.json) return printJson(ended, terminal);
        const also =
          revoked.length === 0
            ? ""
            : `, and ${plural(revoked.length, "admin token")} revoked: ${revoked.join(", ")}`;
        terminal.print(printable(`${plural(sessions, "session")} of ${person} ended${also}.`));
      });
    });
}
