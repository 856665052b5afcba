import type { AdminTokenView, IssuedAdminTokenView } from "../../admin/auth/schema.ts";
import { argument, choiceOption, commandGroup, requiredOption } from "../help.ts";
import { list, operation } from "../operations/operation-command.ts";
import { timeColumn } from "../terminal/list.ts";

/** Commands for admin API tokens: one per person or program, so that the audit log can distinguish them. */
export const adminTokensCommands = commandGroup(
  "admin-tokens",
  "Create and revoke tokens for the dashboard and the admin API",
  [
    operation<IssuedAdminTokenView, { label: string; role: string }>({
      name: "create",
      summary: "Create a token; it is shown only once",
      call: "POST /admin-tokens",
      fields: {
        label: requiredOption("--label <text>", "name of the token in the audit log"),
        role: choiceOption("role", ["admin", "viewer"], "a viewer is read-only (default: admin)").default(
          "admin",
        ),
      },
      examples: [["sluice admin-tokens create --label grafana --role viewer", "for a read-only program"]],
      creates: true,
      show({ token, role }, { terminal }) {
        terminal.print(token);
        terminal.note(terminal.noteStyle.dim(`  role: ${role}. Save it now: it is not shown again.`));
      },
    }),
    list<AdminTokenView>({
      name: "list",
      summary: "List the tokens, without their secrets",
      call: "GET /admin-tokens",
      columns: [
        { name: "id", title: "ID" },
        { name: "label", title: "LABEL" },
        { name: "role", title: "ROLE" },
        { name: "created_by", title: "CREATED BY", elastic: true },
        timeColumn("created_at", "CREATED (UTC)"),
        timeColumn("revoked_at", "REVOKED (UTC)"),
      ],
      examples: [["sluice admin-tokens list", ""]],
      nothing: "No tokens.",
    }),
    operation<AdminTokenView, { token: string }>({
      name: "revoke",
      summary: "Revoke a token permanently, and end the sessions started with it",
      call: "POST /admin-tokens/:token/revoke",
      fields: { token: argument("<token>", "its id or label") },
      examples: [
        ["sluice admin-tokens revoke grafana", "asks first"],
        ["sluice admin-tokens revoke grafana --yes", "in scripts"],
      ],
      asks: ({ given: { token } }) => `${token} will be revoked permanently. Continue?`,
      show: ({ label }, { terminal }) => terminal.print(`${label} is revoked.`),
    }),
  ],
);
