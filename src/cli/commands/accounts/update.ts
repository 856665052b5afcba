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
  readonly cap?: readonly WrittenCap[];
  readonly keyCap?: readonly WrittenCap[];
}

export function accountsUpdateCommand(terminal: Terminal): Command {
  return newDataCommand("update", "Change an account's name, budget or caps")
    .argument("<account>", "its id or label")
    .option("--label <text>", "a name for people")
    .option("--budget <n|none>", "tokens per period", orWord("none", atLeastZero))
    .addOption(new Option("--period <period>", "the budget's period").choices(budgetPeriods))
    .addOption(capOption("cap", "takes the place of all its caps; repeatable"))
    .addOption(capOption("key-cap", "the cap that each new key gets; repeatable"))
    .addHelpText("after", examples(["sluice accounts update atlas --cap 20/day --cap 300/month", ""]))
    .action(async (name: string, options: Options) => {
      const { label, budget, period, cap, keyCap } = options;
      const { readAccountView, updateAccount } = await import("../../../admin/operations/accounts.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const account = await updateAccount(context, name, {
          label,
          budgetTokens: budget === "none" ? null : budget,
          period,
          caps: cap,
          keyCaps: keyCap,
        });
        await auditChange(context, "account.update", account);
        const output = { json: options.json === true, place: context.place };
        showAccount(await readAccountView(context, account), output, terminal);
      });
    });
}
