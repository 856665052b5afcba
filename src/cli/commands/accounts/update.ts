import { type Command, Option } from "commander";
import type { WrittenCap } from "../../../admin/operations/cap-text.ts";
import { type BudgetPeriod, budgetPeriods } from "../../../base/key-attributes.ts";
import { showAccount } from "../../account-output.ts";
import { atLeastZero, orWord } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { capOption } from "../../cap-options.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly label?: string;
  readonly budget?: number | "none";
  readonly period?: BudgetPeriod;
  readonly open?: boolean;
  readonly cap?: readonly WrittenCap[];
  readonly keyCap?: readonly WrittenCap[];
}

export function accountsUpdateCommand(terminal: Terminal): Command {
  return newDataCommand("update", "Change an account's name, budget or caps")
    .argument("<account>", "its id or label")
    .option("--label <text>", "a name for people")
    .option("--budget <n|none>", "tokens per period", orWord("none", atLeastZero))
    .addOption(new Option("--period <period>", "the budget's period").choices(budgetPeriods))
    .option("--open", "billed afterwards from now on: no balance is needed")
    .option("--no-open", "needs a balance from now on; what is owed has to be topped up before")
    .addOption(capOption("cap", "takes the place of all its caps; repeatable"))
    .addOption(capOption("key-cap", "the cap that each new key gets; repeatable"))
    .addHelpText("after", examples(["sluice accounts update atlas --cap 20/day --cap 300/month", ""]))
    .action(async (name: string, options: Options) => {
      const { label, budget, period, open, cap, keyCap } = options;
      const { readAccountView } = await import("../../../admin/operations/account-view.ts");
      const { updateAccount } = await import("../../../admin/operations/accounts.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const { account, detail } = await updateAccount(context, name, {
          label,
          budgetTokens: budget === "none" ? null : budget,
          period,
          isOpen: open,
          caps: cap,
          keyCaps: keyCap,
        });
        await auditChange(context, "account.update", account, detail);
        const output = { json: options.json === true, place: context.place };
        showAccount(await readAccountView(context, account), output, terminal);
      });
    });
}
