import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { exchangesListCommand } from "./list.ts";
import { exchangesShowCommand } from "./show.ts";

export function exchangesCommands(terminal: Terminal): Command {
  return group("exchanges", "Find out why a request ended as it did", [
    exchangesListCommand(terminal),
    exchangesShowCommand(terminal),
  ]);
}
