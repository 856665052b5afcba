import type { Command } from "commander";
import { confirm } from "../../confirm.ts";
import { type DataOptions, examples, newDataCommand } from "../../help.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { setStatus } from "./status.ts";

interface Options extends DataOptions {
  readonly yes?: true;
}

export function keysRevokeCommand(terminal: Terminal): Command {
  return newDataCommand("revoke", "End a key for good")
    .argument("<key>", "its id, prefix or label")
    .option("--yes", "do not ask")
    .addHelpText(
      "after",
      examples(
        ["sluice keys revoke slu_8fK2mQ0x", "asks first"],
        ["sluice keys revoke slu_8fK2mQ0x --yes", "in scripts"],
      ),
    )
    .action(async (name: string, options: Options) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      let id = name;
      await withStore(terminal, options, {}, async (context) => {
        const key = await findKey(context, name);
        id = key.id;
        if (key.status === "revoked") return;
        const label = key.label === null ? "" : ` (${key.label})`;
        await confirm(`${key.prefix}${label} can never be used again. Revoke it?`, options, terminal);
      });
      await setStatus(id, "revoked", options, terminal);
    });
}
