import type { Command } from "commander";
import { showAccount } from "../../account-output.ts";
import { positiveCreditAmount, signedCreditAmount } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

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
    const { account, detail } = await enterCredit(context, name, kind, { amountNano, reference, note });
    const action = kind === "topup" ? "account.topup" : "account.adjust";
    await auditChange(context, action, account, detail);
    const output = { json: options.json === true, place: context.place };
    showAccount(await readAccountView(context, account), output, terminal);
  });
}
