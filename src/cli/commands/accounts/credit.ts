import type { Command } from "commander";
import { creditsFromNano } from "../../../base/money.ts";
import { showAccount } from "../../account-output.ts";
import { positiveCreditAmount, signedCreditAmount } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";

interface Options extends DataOptions {
  readonly reference?: string;
  readonly note?: string;
}

export function accountsTopUpCommand(terminal: Terminal): Command {
  return newDataCommand("topup", "Add credit to an account; on an open one it lowers what is owed")
    .argument("<account>", "its id or label")
    .argument("<credits>", "how much to add", positiveCreditAmount)
    .option("--reference <text>", "what it is for, such as an invoice; the same one again adds nothing")
    .option("--note <text>", "a remark for the ledger")
    .addHelpText(
      "after",
      examples(["sluice accounts topup atlas 50 --reference invoice-1042", "safe to repeat"]),
    )
    .action((name: string, amountNano: number, options: Options) =>
      enter("topup", name, amountNano, options, terminal),
    );
}

export function accountsAdjustCommand(terminal: Terminal): Command {
  return (
    newDataCommand("adjust", "Correct an account's credit, up or down, by a ledger entry of its own")
      .argument("<account>", "its id or label")
      .argument("<±credits>", "how much to add, or with a minus to take away", signedCreditAmount)
      .requiredOption("--note <text>", "why; kept with the ledger entry")
      .option("--reference <text>", "the same one again changes nothing")
      // Otherwise -5 would be taken for an option.
      .allowUnknownOption()
      .addHelpText("after", examples(['sluice accounts adjust atlas -5 --note "entered twice"', ""]))
      .action((name: string, amountNano: number, options: Options) =>
        enter("adjustment", name, amountNano, options, terminal),
      )
  );
}

async function enter(
  kind: "topup" | "adjustment",
  name: string,
  amountNano: number,
  options: Options,
  terminal: Terminal,
): Promise<void> {
  const { readAccountView } = await import("../../../admin/operations/account-view.ts");
  const { enterCredit } = await import("../../../admin/operations/accounts.ts");
  await withStore(terminal, options, { writes: true }, async (context) => {
    const { reference, note } = options;
    const entered = await enterCredit(context, name, kind, { amountNano, reference, note });
    const { account, detail, entry, repeated } = entered;
    const action = kind === "topup" ? "account.topup" : "account.adjust";
    await auditChange(context, action, account, detail);
    const called = account.label ?? account.id;
    if (account.closedAtMs !== null && !account.isOpen && kind === "topup") {
      showWarnings([`${called} is closed: no key can spend what is added`], terminal);
    }
    const view = await readAccountView(context, account);
    if (options.json) {
      const told = {
        entry_id: entry.id,
        amount: creditsFromNano(amountNano),
        reference: entry.reference,
        repeated,
      };
      printJson({ ...view, [kind]: told, ...context.place }, terminal);
      return;
    }
    const { style } = terminal;
    terminal.print(
      repeated
        ? `${style.warn("=")} ${called} had this reference already (${reference}): nothing was changed\n`
        : `${style.good("✓")} ${called}: ${detail}\n`,
    );
    showAccount(view, { json: false }, terminal);
  });
}
