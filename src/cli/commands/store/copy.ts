import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { count, plural } from "../../../base/text/plural.ts";
import { isReference } from "../../../config/secrets.ts";
import { locateStore } from "../../../config/store.ts";
import type { CopyProgress, CopyResult } from "../../../store/copy/copy.ts";
import type { StoreLocation } from "../../../store/settings.ts";
import { confirm, type YesOption } from "../../confirm.ts";
import { dataFolder } from "../../data-place.ts";
import { type ConfigOptions, type DataOptions, newConfigCommand } from "../../help.ts";
import { forgetServed } from "../../serve/files-for-commands.ts";
import { startProgress } from "../../terminal/progress.ts";
import { CommandError, printDone, type Terminal } from "../../terminal/terminal.ts";

interface CopyOptions extends ConfigOptions {
  readonly from: string;
  readonly to: string;
  readonly keep?: true;
  readonly data?: string;
}

export function storeCopyCommand(terminal: Terminal): Command {
  return newConfigCommand("copy", "Copy all data into an empty folder or database")
    .requiredOption("--from <dir|url>", "a data folder or a PostgreSQL database that no gateway uses")
    .requiredOption("--to <dir|url>", "an empty one")
    .option("--keep", "keep using the source; the copy is a trial")
    .option(
      "--data <dir>",
      "the data folder of a gateway of that database, which may have charges not yet sent",
    )
    .examples(
      ["sluice store copy --from ./sluice-data --to env:DATABASE_URL", "into a database"],
      ["sluice store copy --from postgres://sluice@db/sluice --to ./sluice-data", "and back"],
    )
    .addHelpText(
      "after",
      "\nBoth sides are audited. The source keeps its data, but is marked as moved and rejects further use (not with --keep;\n`sluice store reopen` undoes it). Its schema is upgraded first.",
    )
    .action(async (options: CopyOptions) => {
      const from = locationOf(options.from, options, terminal);
      const to = locationOf(options.to, options, terminal);
      const { copyAll } = await import("../../../store/open.ts");
      const copied = await showingProgress(terminal, (onProgress) =>
        copyAll({
          from,
          to,
          keepsSource: options.keep === true,
          nodeFolders: nodeFolders(options, terminal, from, to),
          clock: systemClock,
          onProgress,
        }),
      );
      if ("dir" in to) forgetServed(to.dir);
      const moved = options.keep ? "" : `; ${options.from} is marked as moved`;
      const message = `${copiedText(copied)} copied; both ledgers are consistent${moved}`;
      printDone(options.json, { ...copied, audit: "clean" }, message, terminal);
      terminal.note(terminal.noteStyle.dim("  recorded content is not copied"));
    });
}

export function copiedText({ keys, entries, usage }: CopyResult): string {
  return `${plural(keys, "key")}, ${plural(entries, "entry", "entries")} and ${plural(usage, "usage record")}`;
}

export async function showingProgress<Result>(
  terminal: Terminal,
  work: (onProgress: (copied: CopyProgress) => void) => Promise<Result>,
): Promise<Result> {
  const progress = startProgress(terminal);
  try {
    return await work(({ table, rows, share }) =>
      progress.show(`${table}: ${count(rows)} rows, ${Math.floor(share * 100)} % of all entries`),
    );
  } finally {
    progress.end();
  }
}

/** Folders where a gateway of this machine may still have charges that the database never received. */
export function nodeFolders(
  options: Pick<DataOptions, "config" | "data">,
  terminal: Terminal,
  ...places: readonly StoreLocation[]
): readonly string[] {
  const folders = places.flatMap((place) => ("dir" in place ? [place.dir] : []));
  return [...new Set([dataFolder(options, terminal), ...folders])];
}

interface ReopenOptions extends ConfigOptions, YesOption {
  readonly at: string;
}

export function storeReopenCommand(terminal: Terminal): Command {
  return newConfigCommand(
    "reopen",
    "Use a store again after `store copy` or `store export` marked it as moved",
  )
    .requiredOption("--at <dir|url>", "the data folder or the PostgreSQL database that was copied from")
    .option("--yes", "skip confirmation")
    .examples(["sluice store reopen --at ./sluice-data", "use the source again"])
    .addHelpText(
      "after",
      "\nThe source does not have changes made in the copy since then: stop the copy's gateways first.",
    )
    .action(async (options: ReopenOptions) => {
      const { movedTo, reopenStore } = await import("../../../store/open.ts");
      const place = locationOf(options.at, options, terminal);
      const moved = await movedTo(place);
      if (moved === null) throw new CommandError(`${options.at} was not moved, so it cannot be reopened`);
      await confirm(
        `Use ${options.at} again, without the changes made in ${moved.to} since?`,
        options,
        terminal,
      );
      await reopenStore(place);
      const document = { reopened: options.at, moved_to: moved.to };
      printDone(options.json, document, `${options.at} can be used again`, terminal);
    });
}

/** Accepts a URL or a reference to one; everything else is a folder. */
function locationOf(place: string, { config: file }: ConfigOptions, { env, cwd }: Terminal): StoreLocation {
  const isUrl = isReference(place) || place.includes("://");
  const address = isUrl ? locateStore({ file, store: place, env, cwd }) : null;
  return address ?? { dir: resolve(cwd, place) };
}
