import { type Command, Option } from "commander";
import type { WrittenCap } from "../../../admin/operations/cap-text.ts";
import { type BudgetPeriod, budgetPeriods } from "../../../base/key-attributes.ts";
import type { KeyMode } from "../../../store/store.ts";
import { showAccount } from "../../account-output.ts";
import { atLeastZero, creditAmount } from "../../arguments.ts";
import { auditChange } from "../../audit.ts";
import { capOption } from "../../cap-options.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly mode: KeyMode;
  readonly label: string;
  readonly credit?: number;
  readonly budget?: number;
  readonly period?: BudgetPeriod;
  readonly open?: true;
  readonly cap?: readonly WrittenCap[];
  readonly keyCap?: readonly WrittenCap[];
}

export function accountsCreateCommand(terminal: Terminal): Command {
  return newDataCommand("create", "Create an account that several keys draw on")
    .addOption(
      new Option("--mode <credit|token_budget>", "what its keys spend: credits, or the tokens of a budget")
        .choices(["credit", "token_budget"])
        .makeOptionMandatory(),
    )
    .requiredOption("--label <text>", "a name for people")
    .option("--credit <n>", "opening balance, in credits", creditAmount)
    .option("--budget <n>", "tokens per period (default: no limit)", atLeastZero)
    .addOption(new Option("--period <period>", "the budget's period (default: month)").choices(budgetPeriods))
    .option("--open", "billed afterwards: no balance is needed, and caps are the only bound")
    .addOption(capOption("cap", "the most that all keys together may take; repeatable"))
    .addOption(capOption("key-cap", "the cap that each new key gets; repeatable"))
    .addHelpText(
      "after",
      examples(
        ["sluice accounts create --mode credit --label atlas --credit 100 --key-cap 5/day", ""],
        ["sluice accounts create --mode credit --label acme --open --cap 500/month", ""],
      ),
    )
    .action(async (options: Options) => {
      const { mode, label, credit, budget, period, open, cap, keyCap } = options;
      const { readAccountView } = await import("../../../admin/operations/account-view.ts");
      const { createAccount } = await import("../../../admin/operations/accounts.ts");
      await withStore(terminal, options, { create: true }, async (context) => {
        const { account, detail } = await createAccount(context, {
          mode,
          label,
          creditNano: credit,
          budgetTokens: budget,
          period,
          isOpen: open,
          caps: cap,
          keyCaps: keyCap,
        });
        await auditChange(context, "account.create", account, detail);
        const output = { json: options.json === true, place: context.place };
        showAccount(await readAccountView(context, account), output, terminal);
      });
    });
}
