import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { nameOfDatabase } from "../../../store/open.ts";
import type { StoreLocation } from "../../../store/settings.ts";
import { database, dataFolder } from "../../data-place.ts";
import { type DataOptions, newMachineCommand } from "../../help.ts";
import { forgetServed } from "../../serve/files-for-commands.ts";
import { printDone, type Terminal } from "../../terminal/terminal.ts";
import { copiedText, nodeFolders, showingProgress } from "./copy.ts";

interface ExportOptions extends DataOptions {
  readonly keep?: true;
}

export function storeExportCommand(terminal: Terminal): Command {
  return newMachineCommand("export", "Write all data to a file, to move it to a build with another schema")
    .argument("<file>", "a new file; it has hashes and recorded usage, so only its owner can read it")
    .option("--keep", "keep using the source; the file is a trial")
    .examples(
      ["sluice store export ledger.jsonl", "gateways stopped; the ledger is audited"],
      ["sluice store import ledger.jsonl --data ./new-data", "with the other build"],
    )
    .addHelpText(
      "after",
      "\nThe source keeps its data, but is marked as moved and rejects further use (not with --keep; `sluice store reopen`\nundoes it). Recorded content is not exported.",
    )
    .action(async (typed: string, options: ExportOptions) => {
      const file = resolve(terminal.cwd, typed);
      const from = chosenStore(options, terminal);
      const { exportStore } = await import("../../../store/open.ts");
      const exported = await showingProgress(terminal, (onProgress) =>
        exportStore({
          from,
          file,
          keepsSource: options.keep === true,
          nodeFolders: nodeFolders(options, terminal, from),
          clock: systemClock,
          onProgress,
        }),
      );
      const moved = options.keep ? "" : `; ${nameOf(from)} is marked as moved`;
      const message = `${copiedText(exported)} exported; the ledger is consistent${moved}`;
      printDone(options.json, { file, ...exported, audit: "clean" }, message, terminal);
      terminal.note(terminal.noteStyle.dim("  recorded content is not exported"));
    });
}

export function storeImportCommand(terminal: Terminal): Command {
  return newMachineCommand("import", "Read a file of `store export` into an empty folder or database")
    .argument("<file>", "the exported file; if it is incomplete or was changed, nothing is imported")
    .examples(
      ["sluice store import ledger.jsonl --data ./new-data", "into a folder"],
      ["sluice store import ledger.jsonl --store env:DATABASE_URL", "into a database"],
    )
    .action(async (typed: string, options: DataOptions) => {
      const file = resolve(terminal.cwd, typed);
      const to = chosenStore(options, terminal);
      const { importStore } = await import("../../../store/open.ts");
      const imported = await showingProgress(terminal, (onProgress) =>
        importStore({ file, to, clock: systemClock, onProgress }),
      );
      if ("dir" in to) forgetServed(to.dir);
      const message = `${copiedText(imported)} imported into ${nameOf(to)}; its ledger is consistent`;
      printDone(options.json, { file, ...imported, audit: "clean" }, message, terminal);
    });
}

function chosenStore(options: DataOptions, terminal: Terminal): StoreLocation {
  return database(options, terminal) ?? { dir: dataFolder(options, terminal) };
}

function nameOf(store: StoreLocation): string {
  return "url" in store ? nameOfDatabase(store) : store.dir;
}
