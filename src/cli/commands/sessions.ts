import type { SessionListView, SessionsEndedView } from "../../admin/auth/session-list.ts";
import { plural } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import { commandGroup, option, requiredOption } from "../help.ts";
import { list, operation } from "../operations/operation-command.ts";
import { timeColumn } from "../terminal/list.ts";

/** Sign-ins to the dashboard and the self-service page. */
export const sessionsCommands = commandGroup("sessions", "See who is signed in, and sign people out", [
  list<SessionListView>({
    name: "list",
    summary: "List who is signed in to the dashboard",
    call: "GET /sessions",
    examples: ["sluice sessions list"],
    columns: [
      { name: "name", title: "WHO", elastic: true },
      { name: "issuer", title: "SIGNED IN AT", elastic: true },
      timeColumn("began_at", "SINCE (UTC)"),
      timeColumn("ends_at", "UNTIL (UTC)"),
    ],
    nothing: ({ client: { gateway, place, name } }) =>
      gateway === null && "data_folder" in place
        ? `No gateway runs on ${name}, so there are no sessions.`
        : "No sessions.",
  }),
  operation<SessionsEndedView, { person: string; tokens?: true }>({
    name: "end",
    summary: "Sign a person out of the dashboard, on every gateway",
    call: "POST /sessions/end",
    fields: {
      person: requiredOption("--person <name>", "the person, as in the list"),
      tokens: option("--tokens", "also revoke the admin tokens that the person created"),
    },
    examples: [
      ["sluice sessions end --person ada@example.com", "asks first"],
      ["sluice sessions end --person ada@example.com --tokens --yes", "when Ada leaves the company"],
    ],
    asks({ given: { person, tokens } }) {
      const what = tokens ? "All sessions and admin tokens" : "All sessions";
      return `${what} of ${person} will end. Continue?`;
    },
    show({ person, sessions, tokens }, { terminal }) {
      const revoked = `, and ${plural(tokens.length, "admin token")} revoked: ${tokens.join(", ")}`;
      const also = tokens.length === 0 ? "" : revoked;
      terminal.print(printable(`${plural(sessions, "session")} of ${person} ended${also}.`));
    },
  }),
]);
