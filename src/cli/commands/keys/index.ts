import type { Command } from "commander";
import { type DataOptions, group, newDataCommand } from "../../help.ts";
import { showKey } from "../../key-output.ts";
import { withStore } from "../../open-store.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { keysExtendCommand, keysMoveCommand, keysRotateCommand, keysUpdateCommand } from "./change.ts";
import { keysCreateCommand } from "./create.ts";
import { keysAdjustCommand, keysTopUpCommand } from "./credit.ts";
import { keysListCommand } from "./list.ts";
import { keysRevokeCommand, keysStatusCommand } from "./status.ts";

export function keysCommands(terminal: Terminal): Command {
  return group("keys", "Create keys, fund them, limit them and take them back", [
    keysCreateCommand(terminal),
    keysListCommand(terminal),
    keysShowCommand(terminal),
    keysTopUpCommand(terminal),
    keysAdjustCommand(terminal),
    keysUpdateCommand(terminal),
    keysExtendCommand(terminal),
    keysMoveCommand(terminal),
    keysRotateCommand(terminal),
    keysStatusCommand(
      "disable",
      "Refuse a key until it is enabled again; its holder is told so",
      "disabled",
      terminal,
    ),
    keysStatusCommand("enable", "Accept a disabled or suspended key again", "active", terminal),
    keysStatusCommand("suspend", "Treat a key as unknown until it is enabled again", "suspended", terminal),
    keysRevokeCommand(terminal),
  ]);
}

function keysShowCommand(terminal: Terminal): Command {
  return newDataCommand("show", "Show one key with its balance and limits")
    .argument("<key>", "its id, prefix or label")
    .examples("sluice keys show slu_8fK2mQ0x")
    .action(async (name: string, options: DataOptions) => {
      const { findKey } = await import("../../../admin/operations/find-key.ts");
      const { readKeySummary } = await import("../../../admin/operations/key-summary.ts");
      await withStore(terminal, options, {}, async (context) => {
        showKey(await readKeySummary(context, await findKey(context, name)), options, terminal);
      });
    });
}
