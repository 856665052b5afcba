import type { Command } from "commander";
import { showAccount } from "../../account-output.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export function accountsShowCommand(terminal: Terminal): Command {
  return newDataCommand("show", "Show one account with its caps and its keys")
    .argument("<account>", "its id or label")
    .addHelpText("after", examples(["sluice accounts show atlas", ""]))
    .action(async (name: string, options: DataOptions) => {
      const { readAccountView } = await import("../../../admin/operations/account-view.ts");
      const { findAccount } = await import("../../../admin/operations/accounts.ts");
      await withStore(terminal, options, {}, async (context) => {
        const view = await readAccountView(context, await findAccount(context, name));
        showAccount(view, { json: options.json === true }, terminal);
      });
    });
}
