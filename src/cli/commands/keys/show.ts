import type { Command } from "commander";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";

export function keysShowCommand(terminal: Terminal): Command {
  return newDataCommand("show", "Show one key with its balance and limits")
    .argument("<key>", "its id, prefix or label")
    .addHelpText("after", examples(["sluice keys show slu_8fK2mQ0x", ""]))
    .action(async (name: string, options: DataOptions) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, {}, async (context) => {
        const view = await readKeySummary(context, await findKey(context, name));
        showKey(view, { json: options.json === true }, terminal);
      });
    });
}
