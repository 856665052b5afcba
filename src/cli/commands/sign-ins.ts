import type { Command } from "commander";
import type { AllowedView, RevokeBody, RevokedView, SignInView } from "../../admin/auth/sign-ins/schema.ts";
import { plural } from "../../base/text/plural.ts";
import { printable } from "../../base/text/printable.ts";
import { confirm, type YesOption } from "../confirm.ts";
import { type CsvOption, type DataOptions, group, newOperationCommand, withCsv } from "../help.ts";
import { withOperations } from "../operations/with-operations.ts";
import { type ListColumn, printList } from "../terminal/list.ts";
import { Misuse, moment, printDone, type Terminal } from "../terminal/terminal.ts";

/** Programs that people have signed in, such as coding agents. */
export function signInsCommands(terminal: Terminal): Command {
  return group("sign-ins", "See which programs people have signed in, and end their sign-ins", [
    listCommand(terminal),
    revokeCommand(terminal),
    allowCommand(terminal),
  ]);
}

interface ListOptions extends DataOptions, CsvOption {
  readonly person?: string;
}

function listCommand(terminal: Terminal): Command {
  return withCsv(
    newOperationCommand("list", "List the programs that people have signed in, the latest first"),
  )
    .option("--person <name>", "only of this person")
    .examples("sluice sign-ins list --person ada@example.com")
    .action(async ({ person, ...options }: ListOptions) => {
      await withOperations(terminal, options, {}, async (client) => {
        const rows = await client.list<SignInView>("/sign-ins", { person });
        printList({ rows, columns, nothing: "No sign-ins." }, options, terminal);
      });
    });
}

const columns: readonly ListColumn<SignInView>[] = [
  { name: "id", title: "ID", cell: ({ id }) => id },
  { name: "person", title: "WHO", elastic: true, cell: ({ person }) => printable(person) },
  { name: "client", title: "PROGRAM", elastic: true, cell: ({ client }) => printable(client ?? "–") },
  { name: "device", title: "MACHINE", elastic: true, cell: ({ device }) => printable(device ?? "–") },
  { name: "address", title: "ADDRESS", cell: ({ address }) => address },
  { name: "key", title: "KEY", cell: ({ key }) => key ?? "–" },
  { name: "began_at", title: "SINCE (UTC)", cell: ({ began_at: at }) => moment(Date.parse(at)) },
  { name: "used_at", title: "REFRESHED (UTC)", cell: ({ used_at: at }) => moment(Date.parse(at)) },
  {
    name: "ended_at",
    title: "ENDED (UTC)",
    cell: ({ ended_at: at }) => (at === null ? "" : moment(Date.parse(at))),
  },
  { name: "end_reason", title: "WHY", cell: ({ end_reason: reason }) => reason ?? "" },
];

interface RevokeOptions extends DataOptions, YesOption {
  readonly person?: string;
}

function revokeCommand(terminal: Terminal): Command {
  return newOperationCommand("revoke", "End one sign-in, or all of a person, on every gateway")
    .argument("[id]", "the sign-in, as in the list")
    .option("--person <name>", "all sign-ins of this person")
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice sign-ins revoke sgn_2f8K1mQ0xYbT", "asks first"],
      ["sluice sign-ins revoke --person ada@example.com --yes", "all of a person"],
    )
    .action(async (id: string | undefined, { person, ...options }: RevokeOptions) => {
      if ((id === undefined) === (person === undefined)) throw new Misuse("pass a sign-in or --person");
      const body: RevokeBody = {
        ...(id === undefined ? {} : { id }),
        ...(person === undefined ? {} : { person }),
      };
      await withOperations(terminal, options, { writes: true }, async (client) => {
        await confirm(`${id ?? `All sign-ins of ${person}`} will end. Continue?`, options, terminal);
        const { ended } = await client.post<RevokedView>("/sign-ins/revoke", body);
        printDone(options.json, { ended }, `${plural(ended, "sign-in")} ended.`, terminal);
      });
    });
}

function allowCommand(terminal: Terminal): Command {
  return newOperationCommand("allow", "Let a person sign in again whose key for sign-ins was revoked")
    .argument("<person>", "the person")
    .examples("sluice sign-ins allow ada@example.com")
    .action(async (person: string, options: DataOptions) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        const { allowed } = await client.post<AllowedView>("/sign-ins/allow", { person });
        printDone(options.json, { allowed }, printable(`${person} can sign in again.`), terminal);
      });
    });
}
