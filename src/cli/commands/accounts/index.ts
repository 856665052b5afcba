import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { accountsCloseCommand } from "./close.ts";
import { accountsCreateCommand } from "./create.ts";
import { accountsAdjustCommand, accountsTopUpCommand } from "./credit.ts";
import { accountsListCommand } from "./list.ts";
import { accountsShowCommand } from "./show.ts";
import { accountsUpdateCommand } from "./update.ts";

export function accountsCommands(terminal: Terminal): Command {
  return group("accounts", "Let several keys share a balance or a budget, and bound what they take", [
    accountsCreateCommand(terminal),
    accountsListCommand(terminal),
    accountsShowCommand(terminal),
    accountsTopUpCommand(terminal),
    accountsAdjustCommand(terminal),
    accountsUpdateCommand(terminal),
    accountsCloseCommand(terminal),
  ]);
}
