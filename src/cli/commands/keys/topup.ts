import type { Command } from "commander";
import { creditsFromNano } from "../../../base/money.ts";
import { positiveCreditAmount } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { credits, creditsShown } from "../../terminal/format.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly reference?: string;
  readonly note?: string;
}

export function keysTopUpCommand(terminal: Terminal): Command {
  return newDataCommand("topup", "Add credit to a key")
    .argument("<key>", "its id, prefix or label")
    .argument("<credits>", "how much to add", positiveCreditAmount)
    .option("--reference <text>", "what it is for, such as an invoice; the same one again adds nothing")
    .option("--note <text>", "a remark for the ledger")
    .addHelpText(
      "after",
      examples(
        ["sluice keys topup slu_8fK2mQ0x 10", ""],
        ["sluice keys topup slu_8fK2mQ0x 10 --reference invoice-1042", "safe to repeat"],
      ),
    )
    .action(async (name: string, amountNano: number, options: Options) => {
      const { entryDetail } = await import("../../../admin/operations/entry-text.ts");
      const { topUp } = await import("../../../admin/operations/top-up.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const { reference, note } = options;
        const { key, entry, repeated } = await topUp(context, name, { amountNano, reference, note });
        await auditChange(context, "key.topup", key, entryDetail(amountNano, repeated));
        const view = await readKeySummary(context, key);
        if (options.json) {
          const added = {
            entry_id: entry.id,
            amount: creditsFromNano(amountNano),
            reference: entry.reference,
            repeated,
          };
          printJson({ ...view, topup: added, ...context.place }, terminal);
          return;
        }
        const balance = `the balance is ${creditsShown(view.credit?.balance ?? 0)} credits`;
        terminal.print(
          repeated
            ? `${terminal.style.warn("=")} ${key.prefix} had this top-up already (${reference}); ${balance}`
            : `${terminal.style.good("✓")} ${key.prefix} got ${credits(amountNano)} credits; ${balance}`,
        );
      });
    });
}
