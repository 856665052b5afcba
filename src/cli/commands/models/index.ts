import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { modelsCheckCommand } from "./check.ts";
import { modelsImportCommand } from "./import.ts";
import { modelsListCommand } from "./list.ts";

export function modelsCommands(terminal: Terminal): Command {
  return group("models", "See the models, and try their providers", [
    modelsListCommand(terminal),
    modelsCheckCommand(terminal),
    modelsImportCommand(terminal),
  ]);
}
