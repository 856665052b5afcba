import { resolve } from "node:path";
import type { Command } from "commander";
import { type DataOptions, newDataCommand } from "../help.ts";
import { withStore } from "../open-store.ts";
import { plural, printDone, type Terminal } from "../terminal/terminal.ts";

export function backupCommand(terminal: Terminal): Command {
  return newDataCommand("backup", "Copy all data into one file, also while the gateway runs")
    .argument("<file>", "where to; an existing file is never overwritten")
    .examples("sluice backup sluice-$(date +%F).db")
    .action(async (name: string, options: DataOptions) => {
      const { backUp } = await import("../../admin/operations/back-up.ts");
      const file = resolve(terminal.cwd, name);
      await withStore(terminal, options, {}, async (context) => {
        const { bytes } = await backUp(context, file);
        const told = `${file} holds everything (${plural(Math.ceil(bytes / 1024), "KiB", "KiB")})`;
        printDone(options.json, { file, bytes }, told, terminal);
      });
    });
}
