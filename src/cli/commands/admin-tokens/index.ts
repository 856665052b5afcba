import type { Command } from "commander";
import type { AdminTokenView, IssuedAdminTokenView } from "../../../admin/system/schema.ts";
import { printable } from "../../../base/text/printable.ts";
import type { AdminTokenRecord } from "../../../store/store.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import {
  type CsvOption,
  choiceOption,
  type DataOptions,
  group,
  newOperationCommand,
  withCsv,
} from "../../help.ts";
import { segment } from "../../operations/client.ts";
import { withOperations } from "../../operations/with-operations.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { moment, printJson, type Terminal } from "../../terminal/terminal.ts";

/** Commands for admin API tokens: one per person or program, so that the audit log can distinguish them. */
export function adminTokensCommands(terminal: Terminal): Command {
  return group("admin-tokens", "Create and revoke tokens for the dashboard and the admin API", [
    createCommand(terminal),
    listCommand(terminal),
    revokeCommand(terminal),
  ]);
}

interface CreateOptions extends DataOptions {
  readonly label: string;
  readonly role: AdminTokenRecord["role"];
}

function createCommand(terminal: Terminal): Command {
  return newOperationCommand("create", "Create a token; it is shown only once")
    .requiredOption("--label <text>", "name of the token in the audit log")
    .addOption(
      choiceOption("role", ["admin", "viewer"], "a viewer is read-only (default: admin)").default("admin"),
    )
    .examples(["sluice admin-tokens create --label grafana --role viewer", "for a read-only program"])
    .action(async ({ label, role, ...options }: CreateOptions) => {
      await withOperations(terminal, options, { create: true }, async (client) => {
        const token = await client.post<IssuedAdminTokenView>("/admin-tokens", { label, role });
        if (options.json) return printJson(token, terminal);
        terminal.print(token.token);
        terminal.note(terminal.noteStyle.dim(`  role: ${role}. Save it now: it is not shown again.`));
      });
    });
}

function listCommand(terminal: Terminal): Command {
  return withCsv(newOperationCommand("list", "List the tokens, without their secrets")).action(
    async (options: DataOptions & CsvOption) => {
      await withOperations(terminal, options, {}, async (client) => {
        const rows = await client.list<AdminTokenView>("/admin-tokens");
        printList({ rows, columns, nothing: "No tokens." }, options, terminal);
      });
    },
  );
}

const shortly = (iso: string | null) => (iso === null ? "" : moment(Date.parse(iso)));

const columns: readonly ListColumn<AdminTokenView>[] = [
  { name: "id", title: "ID" },
  { name: "label", title: "LABEL" },
  { name: "role", title: "ROLE" },
  {
    name: "created_by",
    title: "CREATED BY",
    elastic: true,
    cell: (token) => printable(token.created_by ?? ""),
  },
  { name: "created_at", title: "CREATED (UTC)", cell: (token) => shortly(token.created_at) },
  { name: "revoked_at", title: "REVOKED (UTC)", cell: (token) => shortly(token.revoked_at) },
];

function revokeCommand(terminal: Terminal): Command {
  return newOperationCommand("revoke", "Revoke a token permanently, and end the sessions started with it")
    .argument("<token>", "its id or label")
    .option("--yes", "skip confirmation")
    .examples(
      ["sluice admin-tokens revoke grafana", "asks first"],
      ["sluice admin-tokens revoke grafana --yes", "in scripts"],
    )
    .action(async (name: string, options: DataOptions & YesOption) => {
      await withOperations(terminal, options, { writes: true }, async (client) => {
        await confirm(`${name} will be revoked permanently. Continue?`, options, terminal);
        const token = await client.post<AdminTokenView>(`/admin-tokens${segment(name)}/revoke`);
        if (options.json) printJson(token, terminal);
        else terminal.print(`${token.label} is revoked.`);
      });
    });
}
