import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { storeCheckCommand } from "./check.ts";
import { storeCopyCommand } from "./copy.ts";
import { storeReopenCommand } from "./reopen.ts";

export function storeCommands(terminal: Terminal): Command {
  return group("store", "Check the database, and move the data between a folder and a database", [
    storeCheckCommand(terminal),
    storeCopyCommand(terminal),
    storeReopenCommand(terminal),
  ]);
}
