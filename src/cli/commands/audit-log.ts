import { iso } from "../../admin/moments.ts";
import type { AuditView } from "../../admin/system/schema.ts";
import { atLeastOne, since } from "../arguments.ts";
import { option } from "../help.ts";
import { list } from "../operations/operation-command.ts";
import { csvOnly, timeColumn } from "../terminal/list.ts";
import { second } from "../terminal/terminal.ts";

const defaultLimit = 50;
const when = "24h, 7d, yesterday, 2026-10, a date or a time";
const parsedWhen = (text: string) => iso(since(text));

export const auditLogCommand = list<AuditView, AuditFields, { limit?: number }>({
  name: "audit-log",
  summary: "List who changed what, newest first",
  call: "GET /audit",
  fields: {
    search: option("--search <text>", "match any text: actor, address, action, target or detail"),
    since: option("--since <when>", `${when} (default: all)`, parsedWhen),
    until: option("--until <when>", "only changes before, in the same format", parsedWhen),
  },
  extras: {
    limit: option("--limit <n>", `maximum number of rows (default: ${defaultLimit})`, atLeastOne),
  },
  examples: [
    ["sluice audit-log --since 24h", "what was changed today, by whom, and from where"],
    ["sluice audit-log --search ada@example.com --csv", "what Ada did"],
    ["sluice audit-log --search price.change", "when a price has changed"],
  ],
  note: "To verify the ledger itself, run `sluice ledger audit`.",
  columns: [
    { name: "id" },
    timeColumn("at", "TIME (UTC)", second),
    { name: "actor", title: "ACTOR", elastic: true },
    { name: "address", title: "FROM", elastic: true },
    { name: "action", title: "ACTION" },
    { name: "target", title: "TO", elastic: true, cell: (row) => row.target_label ?? row.target ?? "–" },
    ...csvOnly("target_label"),
    { name: "detail", title: "DETAIL", elastic: true },
  ],
  nothing: "No matching changes.",
  limit: defaultLimit,
});

interface AuditFields {
  readonly search?: string;
  readonly since?: string;
  readonly until?: string;
}
