import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { configCheckCommand } from "./check.ts";
import { configImportCommands } from "./import.ts";
import { configInitCommand } from "./init.ts";
import { configSchemaCommand } from "./schema.ts";

export function configCommands(terminal: Terminal): Command {
  return group("config", "Write, check and describe the configuration", [
    configInitCommand(terminal),
    configCheckCommand(terminal),
    configSchemaCommand(terminal),
    configImportCommands(terminal),
  ]);
}
