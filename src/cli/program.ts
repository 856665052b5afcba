import { Command } from "commander";
import { backupCommand } from "./commands/backup.ts";
import { completionCommand } from "./commands/completion.ts";
import { configCommands } from "./commands/config/index.ts";
import { exchangesCommands } from "./commands/exchanges/index.ts";
import { healthCommand } from "./commands/health.ts";
import { keysCommands } from "./commands/keys/index.ts";
import { ledgerCommands } from "./commands/ledger/index.ts";
import { modelsCommands } from "./commands/models/index.ts";
import { nodesCommand } from "./commands/nodes.ts";
import { restoreCommand } from "./commands/restore.ts";
import { serveCommand } from "./commands/serve.ts";
import { storeCommands } from "./commands/store/index.ts";
import { usageCommand } from "./commands/usage.ts";
import { versionCommand } from "./commands/version.ts";
import { examples, helpStyle } from "./help.ts";
import { plain } from "./terminal/style.ts";
import type { Terminal } from "./terminal/terminal.ts";

/**
 * The whole command line. These files are light: each command imports what it needs when it runs, so that `serve`
 * and `--help` start fast. With `json`, a misuse is not printed here but reported by `run`, as JSON.
 */
export function buildProgram(terminal: Terminal, json = false): Command {
  const program = new Command("sluice")
    .description("A self-hosted gateway in front of text-generation models.")
    .helpOption("-h, --help", "show this help")
    .option("-V, --version", "show the version")
    .helpCommand(false)
    .configureHelp(helpStyle)
    .configureOutput({
      writeOut: (text) => terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      getOutHelpWidth: () => terminal.columns ?? 100,
      getErrHelpWidth: () => terminal.noteColumns ?? 100,
      getOutHasColors: () => terminal.style !== plain,
      getErrHasColors: () => terminal.noteStyle !== plain,
      outputError: (text, write) => {
        if (!json) write(text.replace(/^error:/, terminal.noteStyle.bad("error:")));
      },
    })
    .exitOverride()
    .addHelpText(
      "after",
      examples(
        ["sluice serve", "start with the built-in demo models, no key needed"],
        ["sluice config init", "write sluice.toml to start from"],
        ["sluice keys create --mode credit --credit 5", "a key that may spend 5 credits"],
        ["sluice usage --by model --since 30d", "what was used, and what it cost"],
      ),
    );
  for (const command of [
    serveCommand(terminal),
    keysCommands(terminal),
    usageCommand(terminal),
    exchangesCommands(terminal),
    modelsCommands(terminal),
    ledgerCommands(terminal),
    configCommands(terminal),
    backupCommand(terminal),
    restoreCommand(terminal),
    storeCommands(terminal),
    nodesCommand(terminal),
    healthCommand(terminal),
    completionCommand(terminal),
    versionCommand(terminal),
  ]) {
    program.addCommand(command);
  }
  inheritSettings(program);
  if (!json) pointToHelp(program);
  return program;
}

/** Commander passes settings only to commands it creates itself; ours are created in their own files. */
function inheritSettings(parent: Command): void {
  for (const command of parent.commands) {
    command.copyInheritedSettings(parent);
    inheritSettings(command);
  }
}

function pointToHelp(command: Command): void {
  command.showHelpAfterError(`Try \`${fullName(command)} --help\`.`);
  for (const each of command.commands) pointToHelp(each);
}

export function fullName(command: Command): string {
  return command.parent === null ? command.name() : `${fullName(command.parent)} ${command.name()}`;
}
