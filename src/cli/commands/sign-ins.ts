import type { AllowedView, RevokedView, SignInView } from "../../admin/auth/sign-ins/schema.ts";
import { plural } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import { argument, commandGroup, option } from "../help.ts";
import { list, operation } from "../operations/operation-command.ts";
import { timeColumn } from "../terminal/list.ts";
import { Misuse } from "../terminal/terminal.ts";

/** Programs that people have signed in, such as coding agents. */
export const signInsCommands = commandGroup(
  "sign-ins",
  "See which programs people have signed in, and end their sign-ins",
  [
    list<SignInView, { person?: string }>({
      name: "list",
      summary: "List the programs that people have signed in, the latest first",
      call: "GET /sign-ins",
      fields: { person: option("--person <name>", "only of this person") },
      examples: ["sluice sign-ins list --person ada@example.com"],
      columns: [
        { name: "id", title: "ID" },
        { name: "person", title: "WHO", elastic: true },
        { name: "client", title: "PROGRAM", elastic: true },
        { name: "device", title: "MACHINE", elastic: true },
        { name: "address", title: "ADDRESS" },
        { name: "key", title: "KEY" },
        timeColumn("began_at", "SINCE (UTC)"),
        timeColumn("used_at", "REFRESHED (UTC)"),
        timeColumn("ended_at", "ENDED (UTC)"),
        { name: "end_reason", title: "WHY" },
      ],
      nothing: "No sign-ins.",
    }),
    operation<RevokedView, { id?: string; person?: string }>({
      name: "revoke",
      summary: "End one sign-in, or all sign-ins of a person, on every gateway",
      call: "POST /sign-ins/revoke",
      fields: {
        id: argument("[id]", "the sign-in, as in the list"),
        person: option("--person <name>", "all sign-ins of this person"),
      },
      examples: [
        ["sluice sign-ins revoke sgn_2f8K1mQ0xYbT", "asks first"],
        ["sluice sign-ins revoke --person ada@example.com --yes", "all sign-ins of one person"],
      ],
      check({ id, person }) {
        if ((id === undefined) === (person === undefined)) throw new Misuse("pass a sign-in or --person");
      },
      asks: ({ given: { id, person } }) => `${id ?? `All sign-ins of ${person}`} will end. Continue?`,
      done: ({ ended }) => `${plural(ended, "sign-in")} ended.`,
    }),
    operation<AllowedView, { person: string }>({
      name: "allow",
      summary: "Let a person sign in again whose key for sign-ins was revoked",
      call: "POST /sign-ins/allow",
      fields: { person: argument("<person>", "the person") },
      examples: ["sluice sign-ins allow ada@example.com"],
      done: (_, { given: { person } }) => printable(`${person} can sign in again.`),
    }),
  ],
);
