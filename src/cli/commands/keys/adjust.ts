import type { Command } from "commander";
import { creditsFromNano } from "../../../base/money.ts";
import { signedCreditAmount } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { credits, creditsShown } from "../../terminal/format.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly note: string;
  readonly reference?: string;
}

export function keysAdjustCommand(terminal: Terminal): Command {
  return (
    newDataCommand("adjust", "Correct a key's credit, up or down, by a ledger entry of its own")
      .argument("<key>", "its id, prefix or label")
      .argument("<±credits>", "how much to add, or with a minus to take away", signedCreditAmount)
      .requiredOption("--note <text>", "why; kept with the ledger entry")
      .option("--reference <text>", "the same one again changes nothing")
      // Otherwise -5 would be taken for an option.
      .allowUnknownOption()
      .addHelpText(
        "after",
        examples(
          ['sluice keys adjust slu_8fK2mQ0x -5 --note "invoice 1042 was entered twice"', ""],
          ['sluice keys adjust slu_8fK2mQ0x +2.5 --note "refund for the outage"', ""],
        ),
      )
      .action(async (name: string, amountNano: number, options: Options) => {
        const { adjust } = await import("../../../admin/operations/adjust.ts");
        const { entryDetail } = await import("../../../admin/operations/entry-text.ts");
        const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
        await withStore(terminal, options, { writes: true }, async (context) => {
          const { note, reference } = options;
          const { key, entry, repeated } = await adjust(context, name, { amountNano, note, reference });
          await auditChange(context, "key.adjust", key, entryDetail(amountNano, repeated));
          const view = await readKeySummary(context, key);
          if (options.json) {
            const adjustment = { entry_id: entry.id, amount: creditsFromNano(amountNano), note, repeated };
            printJson({ ...view, adjustment, ...context.place }, terminal);
            return;
          }
          const balance = `the balance is ${creditsShown(view.credit?.balance ?? 0)} credits`;
          const done = `adjusted by ${amountNano < 0 ? "-" : "+"}${credits(Math.abs(amountNano))}`;
          terminal.print(
            repeated
              ? `${terminal.style.warn("=")} ${key.prefix} had this adjustment already (${reference}); ${balance}`
              : `${terminal.style.good("✓")} ${key.prefix} was ${done} credits; ${balance}`,
          );
        });
      })
  );
}
