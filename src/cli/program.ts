import type { Command } from "commander";
import { accountsCommands } from "./commands/accounts.ts";
import { adminTokensCommands } from "./commands/admin-tokens.ts";
import { alertsAcknowledgeCommand } from "./commands/alerts/acknowledge.ts";
import { alertsTestCommand } from "./commands/alerts/test.ts";
import { auditLogCommand } from "./commands/audit-log.ts";
import { backupCommand, restoreCommand } from "./commands/backup.ts";
import { batchesCommands, filesCommands } from "./commands/batches.ts";
import { capsCommands } from "./commands/caps.ts";
import { completionCommand } from "./commands/completion.ts";
import { configCheckCommand } from "./commands/config/check.ts";
import { configImportCommands } from "./commands/config/import.ts";
import { configInitCommand, configSchemaCommand } from "./commands/config/init.ts";
import { configDiffCommand, configReloadCommand, configShowCommand } from "./commands/config/show.ts";
import { connectCommand } from "./commands/connect.ts";
import { contentDeleteCommand } from "./commands/content/delete.ts";
import { contentRekeyCommand } from "./commands/content/rekey.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { gatewaysCommands } from "./commands/gateways.ts";
import { healthCommand } from "./commands/health.ts";
import { keysCommands } from "./commands/keys/index.ts";
import { ledgerAnchorCommand, ledgerAuditCommand, ledgerExportCommand } from "./commands/ledger/audit.ts";
import { ledgerFeedCommands } from "./commands/ledger/feed.ts";
import { loginCommand } from "./commands/login.ts";
import { modelsCheckCommand } from "./commands/models/check.ts";
import { modelsDiscoverCommand } from "./commands/models/discover.ts";
import { modelsImportCommand } from "./commands/models/import.ts";
import { modelsListCommand } from "./commands/models/list.ts";
import { modelsUpdateCommand } from "./commands/models/update.ts";
import { nodesCommand } from "./commands/nodes.ts";
import { reconcileCommand } from "./commands/reconcile.ts";
import { requestsExportCommand } from "./commands/requests/export.ts";
import { requestsListCommand } from "./commands/requests/list.ts";
import { requestsShowCommand } from "./commands/requests/show.ts";
import { responsesCommands } from "./commands/responses.ts";
import { serveCommand } from "./commands/serve.ts";
import { sessionsCommands } from "./commands/sessions.ts";
import { signInsCommands } from "./commands/sign-ins.ts";
import { statementCommand } from "./commands/statement.ts";
import { statusCommand } from "./commands/status.ts";
import { storeCheckCommand } from "./commands/store/check.ts";
import { storeCopyCommand, storeReopenCommand } from "./commands/store/copy.ts";
import { storeExportCommand, storeImportCommand } from "./commands/store/export.ts";
import { storeSizeCommand } from "./commands/store/size.ts";
import { logoutCommand, tokenCommand } from "./commands/token.ts";
import { usageCommand } from "./commands/usage.ts";
import { versionCommand } from "./commands/version.ts";
import { type CommandMaker, commandGroup, helpStyle, SluiceCommand } from "./help.ts";
import { plain } from "./terminal/style.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** By name, in the order of the help. */
const commands: Readonly<Record<string, CommandMaker>> = {
  serve: serveCommand,
  keys: keysCommands,
  connect: connectCommand,
  login: loginCommand,
  token: tokenCommand,
  logout: logoutCommand,
  accounts: accountsCommands,
  caps: capsCommands,
  usage: usageCommand,
  statement: statementCommand,
  reconcile: reconcileCommand,
  requests: commandGroup("requests", "List requests, and show why one ended as it did", [
    requestsListCommand,
    requestsShowCommand,
    requestsExportCommand,
  ]),
  content: commandGroup("content", "Delete recorded content, or encrypt it with another key", [
    contentDeleteCommand,
    contentRekeyCommand,
  ]),
  responses: responsesCommands,
  batches: batchesCommands,
  files: filesCommands,
  models: commandGroup("models", "List models, test their providers, and update prices", [
    modelsListCommand,
    modelsCheckCommand,
    modelsDiscoverCommand,
    modelsImportCommand,
    modelsUpdateCommand,
  ]),
  ledger: commandGroup("ledger", "Verify, export or follow the ledger", [
    ledgerAuditCommand,
    ledgerAnchorCommand,
    ledgerExportCommand,
    ledgerFeedCommands,
  ]),
  config: commandGroup("config", "Write, check, compare and reload the configuration", [
    configInitCommand,
    configCheckCommand,
    configDiffCommand,
    configReloadCommand,
    configShowCommand,
    configSchemaCommand,
    configImportCommands,
  ]),
  gateways: gatewaysCommands,
  "admin-tokens": adminTokensCommands,
  sessions: sessionsCommands,
  "sign-ins": signInsCommands,
  "audit-log": auditLogCommand,
  backup: backupCommand,
  restore: restoreCommand,
  store: commandGroup("store", "Check the database, and move the data to another folder, database or build", [
    storeCheckCommand,
    storeCopyCommand,
    storeExportCommand,
    storeImportCommand,
    storeReopenCommand,
    storeSizeCommand,
  ]),
  nodes: nodesCommand,
  health: healthCommand,
  doctor: doctorCommand,
  status: statusCommand,
  alerts: commandGroup("alerts", "Acknowledge alerts, and test the webhook that receives them", [
    alertsAcknowledgeCommand,
    alertsTestCommand,
  ]),
  completion: completionCommand,
  version: versionCommand,
};

/**
 * The whole command line. These files are light: each command imports what it needs when it runs, so that `serve`
 * and `--help` start fast. With `json`, a misuse is not printed here but reported by `run`, as JSON.
 * A command line that starts with `word` needs only that command, and to make all takes 20 ms.
 */
export function buildProgram(terminal: Terminal, json = false, word = ""): Command {
  const program = new SluiceCommand("sluice")
    .description("A self-hosted gateway for LLM providers.")
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
    .examples(
      ["sluice serve", "start with the built-in demo models, no key needed"],
      ["sluice config init", "write sluice.toml to start from"],
      ["sluice keys create --mode credit --credit 5", "a key with 5 credits"],
      ["sluice usage --by model --since 30d", "usage and cost by model"],
    );
  for (const make of makersFor(word)) program.addCommand(make(terminal));
  inheritSettings(program);
  if (!json) pointToHelp(program);
  return program;
}

/** Help and completion show all commands, and an unknown one is compared with all. */
function makersFor(word: string): readonly CommandMaker[] {
  const make = word === "completion" || !Object.hasOwn(commands, word) ? undefined : commands[word];
  return make === undefined ? Object.values(commands) : [make];
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
