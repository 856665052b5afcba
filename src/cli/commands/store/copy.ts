import type { Command } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { locateData } from "../../../config/locate-data.ts";
import type { StoreLocation } from "../../../store/settings.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { forgetServed } from "../../serve/files-for-commands.ts";
import { startProgress } from "../../terminal/progress.ts";
import { count, plural, printDone, type Terminal } from "../../terminal/terminal.ts";
import { locationOf } from "./location.ts";

interface Options extends ConfigOptions {
  readonly from: string;
  readonly to: string;
  readonly keep?: true;
  readonly data?: string;
}

export function storeCopyCommand(terminal: Terminal): Command {
  return newConfigCommand("copy", "Copy all data into an empty folder or database")
    .requiredOption("--from <dir|url>", "a data folder or a PostgreSQL database that no gateway uses")
    .requiredOption("--to <dir|url>", "an empty one")
    .option("--keep", "go on using what is copied from: the copy is for trying things out")
    .option(
      "--data <dir>",
      "the data folder of a gateway of that database: it may have charges that are not made yet",
    )
    .examples(
      ["sluice store copy --from ./sluice-data --to env:DATABASE_URL", "into a database"],
      ["sluice store copy --from postgres://sluice@db/sluice --to ./sluice-data", "and back"],
    )
    .addHelpText(
      "after",
      "\nBoth sides are audited. What is copied from keeps its data, but it is marked as moved, and from then on says where to\n(--keep does not; `sluice store reopen` takes it back). Its schema is brought up to date first.",
    )
    .action(async (options: Options) => {
      const from = locationOf(options.from, options, terminal);
      const to = locationOf(options.to, options, terminal);
      const { copyAll } = await import("../../../store/open.ts");
      const progress = startProgress(terminal);
      try {
        const copied = await copyAll({
          from,
          to,
          keepsSource: options.keep === true,
          nodeFolders: nodeFolders(options, terminal, from, to),
          clock: systemClock,
          onProgress: ({ table, rows, share }) =>
            progress.show(`${table}: ${count(rows)} rows, ${Math.floor(share * 100)} % of all entries`),
        });
        progress.end();
        if ("dir" in to) forgetServed(to.dir);
        const what = `${plural(copied.keys, "key")}, ${plural(copied.entries, "entry", "entries")}`;
        const moved = options.keep ? "" : `; ${options.from} is marked as moved`;
        const told = `${what} and ${plural(copied.usage, "usage record")} copied; the books of both sides agree${moved}`;
        printDone(options.json, { ...copied, audit: "clean" }, told, terminal);
      } finally {
        progress.end();
      }
    });
}

/** Where a gateway of this machine may have left charges that the database never got. */
function nodeFolders(
  { config: file, data }: Options,
  { env, cwd }: Terminal,
  ...places: readonly StoreLocation[]
): readonly string[] {
  const folders = places.flatMap((place) => ("dir" in place ? [place.dir] : []));
  return [...new Set([locateData({ file, data, env, cwd }), ...folders])];
}
