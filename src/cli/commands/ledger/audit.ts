import { InvalidArgumentError } from "commander";
import { iso } from "../../../admin/moments.ts";
import { keptExample, keptPattern } from "../../../admin/reports/audit-ledger.ts";
import type { AnchorView, DifferenceView, LedgerAuditView } from "../../../admin/reports/ledger-routes.ts";
import { plural } from "../../../base/text/plural.ts";
import { chosenTime, type TimeOptions, timeFieldsFrom } from "../../chosen-time.ts";
import { choiceOption, option } from "../../help.ts";
import { exported, operation } from "../../operations/operation-command.ts";
import { csvOf, type ListColumn, listTable } from "../../terminal/list.ts";
import { utcMinute } from "../../terminal/terminal.ts";

export const ledgerAuditCommand = operation<LedgerAuditView, { deep?: true; kept?: string }>({
  name: "audit",
  summary: "Recompute every charge and every total, and report differences",
  call: "POST /ledger/audit",
  reads: true,
  fields: {
    deep: option("--deep", "also check the times of every request"),
    kept: option(
      "--anchor <anchor>",
      "also find this anchor, last entry of a statement, or cursor of the feed",
      keptText,
    ),
  },
  examples: [
    ["sluice ledger audit", "exit status 1 when anything differs"],
    [`sluice ledger audit --anchor ${keptExample}`, "nothing before this anchor was changed"],
  ],
  note: "Recomputes every charge from its stored rates, every total from its entries, and the chain of\nhashes. --deep also reports charges\nwhose time does not match the request, for example because the clock was changed.",
  csv: ({ differences }) => csvOf(columns, differences),
  show({ ok, accounts, entries, differences, anchor }, { terminal }) {
    const { style, noteStyle } = terminal;
    const counted = `${plural(accounts, "account")}, ${plural(entries, "entry", "entries")}`;
    const agree = `${style.good("✓")} the ledger is consistent: ${counted}, no difference`;
    terminal.print(ok ? agree : listTable(columns, differences, terminal));
    if (anchor !== null) terminal.print(anchorLine(anchor));
    if (!ok) terminal.note(`${noteStyle.bad("✗")} ${plural(differences.length, "difference")}`);
  },
  hasFailed: ({ ok }) => !ok,
});

export const ledgerAnchorCommand = operation<{ anchor: AnchorView | null }, { accept_unhashed?: true }>({
  name: "anchor",
  summary: "Join all entries so far by one hash, and print it",
  call: "POST /ledger/anchor",
  fields: {
    accept_unhashed: option(
      "--accept-unhashed",
      "also anchor entries that an older release wrote without a hash",
    ),
  },
  examples: [["sluice ledger anchor", "keep the anchor outside this machine"]],
  note: "Keep the anchor out of reach of those who can change the ledger. `sluice ledger audit --anchor` later shows\nwhether anything before it was changed, removed or added. Gateways anchor the ledger once a day, too.",
  done: ({ anchor }) => (anchor === null ? "The ledger has no entries yet." : anchorLine(anchor)),
});

function anchorLine({ anchor, at, entries }: AnchorView): string {
  return `anchor ${anchor} of ${utcMinute(at)} UTC covers ${plural(entries, "entry", "entries")}`;
}

function keptText(text: string): string {
  if (new RegExp(keptPattern).test(text)) return text;
  throw new InvalidArgumentError(
    `Use an anchor such as ${keptExample}, the last entry of a statement, or a cursor.`,
  );
}

const columns: readonly ListColumn<DifferenceView>[] = [
  { name: "key_id", title: "KEY", cell: ({ key_id: id }) => id ?? "all" },
  { name: "where", title: "WHERE", elastic: true },
  { name: "field", title: "FIGURE" },
  { name: "kept", title: "KEPT", align: "right", value: ({ kept }) => String(kept) },
  { name: "recomputed", title: "COMPUTED", align: "right", value: ({ recomputed }) => String(recomputed) },
];

interface ExportFields extends TimeOptions {
  readonly format?: "csv" | "jsonl" | "focus";
  readonly key?: string;
}

export const ledgerExportCommand = exported<ExportFields, { csv?: true; focus?: true }>({
  name: "export",
  summary: "Write the ledger's entries to stdout, oldest first",
  call: "GET /ledger/export",
  fields: {
    format: choiceOption(
      "format",
      ["csv", "jsonl", "focus"],
      "comma-separated, one JSON object a line, or CSV with the columns of FOCUS 1.2 (default: csv)",
    ),
    key: option("--key <key>", "only this key, by id, prefix or label"),
    ...timeFieldsFrom("the beginning"),
  },
  extras: {
    csv: option("--csv", "the same as --format csv"),
    focus: option("--focus", "the same as --format focus"),
  },
  examples: [
    "sluice ledger export > ledger.csv",
    ["sluice ledger export --csv --since 2026-10 --until 2026-11", "October, for an invoice"],
    ["sluice ledger export --focus --since 2026-10 --until 2026-11", "for a FinOps tool"],
    ["sluice ledger export --format jsonl --key slu_8fK2mQ0x | jq .amount", "or --json"],
  ],
  note:
    "`amount` is in nano-credits (1 credit = 1,000,000,000) for credit keys, in tokens for token-budget keys, as " +
    "`unit` shows; `credits` is in credits. A charge has its `rates` and its `calculation`.",
  check({ since, until }) {
    if (since !== undefined && until !== undefined) chosenTime({ since, until }, until);
  },
  input: ({ format, key, since, until, csv, focus }, { options: { json } }) => ({
    format: format ?? (focus ? "focus" : json && !csv ? "jsonl" : "csv"),
    key,
    since: since && iso(since),
    until: until && iso(until),
  }),
});
