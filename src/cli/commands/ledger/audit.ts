import { iso } from "../../../admin/moments.ts";
import type { DifferenceView, LedgerAuditView } from "../../../admin/reports/ledger-routes.ts";
import { plural } from "../../../base/text/plural.ts";
import { chosenTime, type TimeOptions, timeFieldsFrom } from "../../chosen-time.ts";
import { choiceOption, option } from "../../help.ts";
import { exported, operation } from "../../operations/operation-command.ts";
import { csvOf, type ListColumn, listTable } from "../../terminal/list.ts";

export const ledgerAuditCommand = operation<LedgerAuditView, { deep?: true }>({
  name: "audit",
  summary: "Recompute every charge and every total, and report differences",
  call: "POST /ledger/audit",
  reads: true,
  fields: { deep: option("--deep", "also check the times of every request") },
  examples: [["sluice ledger audit", "exit status 1 when anything differs"]],
  note: "Recomputes every charge from its stored rates, and every total from its entries. --deep also reports charges\nwhose time does not match the request, for example because the clock was changed.",
  csv: ({ differences }) => csvOf(columns, differences),
  show({ ok, accounts, entries, differences }, { terminal }) {
    const { style, noteStyle } = terminal;
    const counted = `${plural(accounts, "account")}, ${plural(entries, "entry", "entries")}`;
    const agree = `${style.good("✓")} the ledger is consistent: ${counted}, no difference`;
    terminal.print(ok ? agree : listTable(columns, differences, terminal));
    if (!ok) terminal.note(`${noteStyle.bad("✗")} ${plural(differences.length, "difference")}`);
  },
  hasFailed: ({ ok }) => !ok,
});

const columns: readonly ListColumn<DifferenceView>[] = [
  { name: "key_id", title: "KEY", cell: ({ key_id: id }) => id ?? "all" },
  { name: "where", title: "WHERE", elastic: true },
  { name: "field", title: "FIGURE" },
  { name: "kept", title: "KEPT", align: "right", value: ({ kept }) => String(kept) },
  { name: "recomputed", title: "COMPUTED", align: "right", value: ({ recomputed }) => String(recomputed) },
];

interface ExportFields extends TimeOptions {
  readonly format?: "csv" | "jsonl";
  readonly key?: string;
}

export const ledgerExportCommand = exported<ExportFields, { csv?: true }>({
  name: "export",
  summary: "Write the ledger's entries to stdout, oldest first",
  call: "GET /ledger/export",
  fields: {
    format: choiceOption(
      "format",
      ["csv", "jsonl"],
      "comma-separated, or one JSON object a line (default: csv)",
    ),
    key: option("--key <key>", "only this key, by id, prefix or label"),
    ...timeFieldsFrom("the beginning"),
  },
  extras: { csv: option("--csv", "the same as --format csv") },
  examples: [
    "sluice ledger export > ledger.csv",
    ["sluice ledger export --csv --since 2026-10 --until 2026-11", "October, for an invoice"],
    ["sluice ledger export --format jsonl --key slu_8fK2mQ0x | jq .amount", "or --json"],
  ],
  note:
    "`amount` is in nano-credits (1 credit = 1,000,000,000) for credit keys, in tokens for token-budget keys, as " +
    "`unit` shows; `credits` is in credits. A charge has its `rates` and its `calculation`.",
  check({ since, until }) {
    if (since !== undefined && until !== undefined) chosenTime({ since, until }, until);
  },
  input: ({ format, key, since, until, csv }, { options: { json } }) => ({
    format: format ?? (json && !csv ? "jsonl" : "csv"),
    key,
    since: since && iso(since),
    until: until && iso(until),
  }),
});
