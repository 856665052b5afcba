import type { Command } from "commander";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { auditChange, withStore } from "../../open-store.ts";
import { servedConfig } from "../../serve/files-for-commands.ts";
import { printDone, Refused, type Terminal } from "../../terminal/terminal.ts";
import { showWarnings } from "../../warnings.ts";

export function configReloadCommand(terminal: Terminal): Command {
  return newDataCommand(
    "reload",
    "Put the configuration on disk in force, in the gateway of this data folder",
  )
    .examples(["sluice config diff && sluice config reload", "look first"])
    .addHelpText(
      "after",
      "\nAs with SIGHUP, a bad file is refused, and the old configuration stays in force.",
    )
    .action(async (options: DataOptions) => {
      const { wantReload } = await import("../../serve/wanted-reload.ts");
      const { changesInWords } = await import("../../../admin/operations/config-check.ts");
      const { configDifferences } = await import("../../../config/differences.ts");
      await withStore(terminal, options, {}, async (context) => {
        const before = servedConfig(context.dir)?.written ?? {};
        const answer = await wantReload(context.dir);
        if (answer === null) throw new Refused(`no gateway on this machine uses ${context.dir}`);
        if ("refusal" in answer) throw new Refused(`the old configuration stays in force: ${answer.refusal}`);
        const { file = null, written = {} } = servedConfig(context.dir) ?? {};
        const changes = configDifferences(before, written);
        await auditChange(context, "config.reload", { prefix: file ?? "" }, changesInWords(changes));
        const { notInForce } = answer;
        if (!options.json) showWarnings(notInForce, terminal);
        const told = `${file ?? "the built-in configuration"} is in force: ${changesInWords(changes)}`;
        printDone(options.json, { file, not_in_force: notInForce, changes }, told, terminal);
      });
    });
}
