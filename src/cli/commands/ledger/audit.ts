import type { Command } from "commander";
import type { differenceDocument } from "../../../admin/operations/audit-ledger.ts";
import { type CsvOption, type DataOptions, newDataCommand, withCsv } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { type ListColumn, printList } from "../../terminal/list.ts";
import { CommandFailed, plural, type Terminal } from "../../terminal/terminal.ts";

export function ledgerAuditCommand(terminal: Terminal): Command {
  return withCsv(newDataCommand("audit", "Compute every charge and every sum again, and tell what differs"))
    .option("--deep", "hold the times of every exchange against each other too")
    .examples(["sluice ledger audit", "exit status 1 when anything differs"])
    .addHelpText(
      "after",
      "\nEvery charge is computed from the rates that it was made at, every sum from its entries. --deep also tells of charges\nwhose time does not fit the call: a clock that was set meanwhile does that.",
    )
    .action(async (options: DataOptions & CsvOption & { readonly deep?: true }) => {
      const { auditLedger, differenceDocument } = await import("../../../admin/operations/audit-ledger.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { accounts, entries, differences } = await auditLedger(context, options.deep === true);
        const ok = differences.length === 0;
        const rows = differences.map(differenceDocument);
        const agree = `${terminal.style.good("✓")} the books agree: ${plural(accounts, "account")}, ${plural(entries, "entry", "entries")}, no difference`;
        const document = { ok, accounts, entries, differences: rows };
        const isTable = printList({ rows, columns, document, nothing: agree }, options, terminal);
        if (!ok && isTable)
          terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(differences.length, "difference")}`);
        if (!ok) throw new CommandFailed();
      });
    });
}

const columns: readonly ListColumn<ReturnType<typeof differenceDocument>>[] = [
  { name: "key_id", title: "KEY", cell: ({ key_id: id }) => id ?? "all" },
  { name: "where", title: "WHERE", elastic: true },
  { name: "field", title: "FIGURE" },
  { name: "kept", title: "KEPT", align: "right", value: ({ kept }) => String(kept) },
  { name: "recomputed", title: "COMPUTED", align: "right", value: ({ recomputed }) => String(recomputed) },
];
