import type { Command } from "commander";
import { showAccount } from "../../account-output.ts";
import { auditChange } from "../../audit.ts";
import { confirm } from "../../confirm.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

interface Options extends DataOptions {
  readonly yes?: true;
}

export function accountsCloseCommand(terminal: Terminal): Command {
  return newDataCommand("close", "Close an account: its keys are refused, its entries stay")
    .argument("<account>", "its id or label")
    .option("--yes", "do not ask")
    .addHelpText("after", examples(["sluice accounts close atlas --yes", "in scripts"]))
    .action(async (name: string, options: Options) => {
      const { readAccountView } = await import("../../../admin/operations/account-view.ts");
      const { closeAccount, findAccount } = await import("../../../admin/operations/accounts.ts");
      let id = name;
      await withStore(terminal, options, {}, async (context) => {
        const account = await findAccount(context, name);
        id = account.id;
        if (account.closedAtMs !== null) return;
        await confirm(`No key of ${account.label ?? id} can be used any more. Close it?`, options, terminal);
      });
      await withStore(terminal, options, { writes: true }, async (context) => {
        const account = await closeAccount(context, id);
        await auditChange(context, "account.close", account);
        const output = { json: options.json === true, place: context.place };
        showAccount(await readAccountView(context, account), output, terminal);
      });
    });
}
