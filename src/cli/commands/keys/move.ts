import type { Command } from "commander";
import { auditChange } from "../../audit.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export function keysMoveCommand(terminal: Terminal): Command {
  return newDataCommand("move", "Let a key draw on another account; its entries stay where they were made")
    .argument("<key>", "its id, prefix or label")
    .requiredOption("--account <account>", "the other account's id or label")
    .addHelpText("after", examples(["sluice keys move slu_8fK2mQ0x --account atlas", ""]))
    .action(async (name: string, options: DataOptions & { readonly account: string }) => {
      const { moveKey } = await import("../../../admin/operations/key-account.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, { writes: true }, async (context) => {
        const { key, detail } = await moveKey(context, name, options.account);
        await auditChange(context, "key.move", key, detail);
        const output = { done: "updated", json: options.json === true, place: context.place } as const;
        showKey(await readKeySummary(context, key), output, terminal);
      });
    });
}
