import type { Command } from "commander";
import { CommandFailed } from "../../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { plural } from "../../terminal/format.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function ledgerAuditCommand(terminal: Terminal): Command {
  return newDataCommand("audit", "Compute every charge and every sum again, and tell what differs")
    .option("--deep", "hold the times of every exchange against each other too")
    .addHelpText(
      "after",
      `${examples(["sluice ledger audit", "exit status 1 when anything differs"])}\n\nEvery charge is computed from the rates that it was made at, every sum from its entries. --deep also tells of charges\nwhose time does not fit the call: a clock that was set meanwhile does that.`,
    )
    .action(async (options: DataOptions & { readonly deep?: true }) => {
      const { auditLedger, differenceDocument } = await import("../../../admin/operations/audit-ledger.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { accounts, entries, differences } = await auditLedger(context, options.deep === true);
        const ok = differences.length === 0;
        if (options.json)
          printJson({ ok, accounts, entries, differences: differences.map(differenceDocument) }, terminal);
        else if (ok) {
          terminal.print(
            `${terminal.style.good("✓")} the books agree: ${plural(accounts, "account")}, ${plural(entries, "entry", "entries")}, no difference`,
          );
        } else {
          const rows = differences.map(({ keyId, where, field, kept, recomputed }) => [
            keyId ?? "all",
            where,
            field,
            String(kept),
            String(recomputed),
          ]);
          const columns = [
            { title: "KEY" },
            { title: "WHERE", elastic: true },
            { title: "FIGURE" },
            { title: "KEPT", align: "right" },
            { title: "COMPUTED", align: "right" },
          ] as const;
          terminal.print(table(columns, rows, terminal));
          terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(differences.length, "difference")}`);
        }
        if (!ok) throw new CommandFailed();
      });
    });
}
