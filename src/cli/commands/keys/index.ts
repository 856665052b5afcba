import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { keysAdjustCommand } from "./adjust.ts";
import { keysCreateCommand } from "./create.ts";
import { keysExtendCommand } from "./extend.ts";
import { keysListCommand } from "./list.ts";
import { keysMoveCommand } from "./move.ts";
import { keysRevokeCommand } from "./revoke.ts";
import { keysRotateCommand } from "./rotate.ts";
import { keysShowCommand } from "./show.ts";
import { keysDisableCommand, keysEnableCommand, keysSuspendCommand } from "./status.ts";
import { keysTopUpCommand } from "./topup.ts";
import { keysUpdateCommand } from "./update.ts";

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
    keysDisableCommand(terminal),
    keysEnableCommand(terminal),
    keysSuspendCommand(terminal),
    keysRevokeCommand(terminal),
  ]);
}
