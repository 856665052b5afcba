import type { Command } from "commander";
import { group } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";
import { ledgerAuditCommand } from "./audit.ts";
import { ledgerExportCommand } from "./export.ts";

export function ledgerCommands(terminal: Terminal): Command {
  return group("ledger", "Prove the books, and take them elsewhere", [
    ledgerAuditCommand(terminal),
    ledgerExportCommand(terminal),
  ]);
}
