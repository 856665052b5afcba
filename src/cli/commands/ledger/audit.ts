import type { Command } from "commander";
import { CommandFailed } from "../../failure.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { plural } from "../../terminal/format.ts";
import { table } from "../../terminal/table.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

export function ledgerAuditCommand(terminal: Terminal): Command {
  return newDataCommand("audit", "Add everything up again from the entries and tell what differs")
    .addHelpText("after", examples(["sluice ledger audit", "exit status 1 when anything differs"]))
    .action(async (options: DataOptions) => {
      const { auditLedger } = await import("../../../admin/operations/audit-ledger.ts");
      await withStore(terminal, options, {}, async (context) => {
        const { accounts, differences } = await auditLedger(context);
        const ok = differences.length === 0;
        if (options.json) printJson({ ok, accounts, differences }, terminal);
        else if (ok) {
          terminal.print(
            `${terminal.style.good("✓")} the books agree: ${plural(accounts, "account")}, no difference`,
          );
        } else {
          const rows = differences.map(({ keyId, field, kept, recomputed }) => [
            keyId,
            field,
            String(kept),
            String(recomputed),
          ]);
          const columns = [
            { title: "ACCOUNT" },
            { title: "FIGURE" },
            { title: "KEPT", align: "right" },
            { title: "FROM ENTRIES", align: "right" },
          ] as const;
          terminal.print(table(columns, rows, terminal));
          terminal.note(`${terminal.noteStyle.bad("✗")} ${plural(differences.length, "difference")}`);
        }
        if (!ok) throw new CommandFailed();
      });
    });
}
