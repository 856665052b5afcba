import { resolve } from "node:path";
import type { Command } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { isReference } from "../../../config/secrets.ts";
import { locateStore } from "../../../config/store.ts";
import type { StoreLocation } from "../../../store/settings.ts";
import { type ConfigOptions, examples, newConfigCommand } from "../../help.ts";
import { forgetServed } from "../../serve/files-for-commands.ts";
import { count, plural } from "../../terminal/format.ts";
import { startProgress } from "../../terminal/progress.ts";
import { printJson, type Terminal } from "../../terminal/terminal.ts";

interface Options extends ConfigOptions {
  readonly from: string;
  readonly to: string;
}

export function storeCopyCommand(terminal: Terminal): Command {
  return newConfigCommand("copy", "Copy all data into an empty folder or database")
    .requiredOption("--from <dir|url>", "a data folder or a PostgreSQL database that no gateway uses")
    .requiredOption("--to <dir|url>", "an empty one")
    .addHelpText(
      "after",
      `${examples(
        ["sluice store copy --from ./sluice-data --to env:DATABASE_URL", "into a database"],
        ["sluice store copy --from postgres://sluice@db/sluice --to ./sluice-data", "and back"],
      )}\n\nBoth sides are audited. What is copied from keeps its data; its schema is brought up to date first.`,
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
          clock: systemClock,
          onProgress: ({ table, rows, share }) =>
            progress.show(`${table}: ${count(rows)} rows, ${Math.floor(share * 100)} % of all entries`),
        });
        progress.end();
        if ("dir" in to) forgetServed(to.dir);
        if (options.json) printJson({ ...copied, audit: "clean" }, terminal);
        else {
          const what = `${plural(copied.keys, "key")}, ${plural(copied.entries, "entry", "entries")}`;
          terminal.print(
            `${terminal.style.good("✓")} ${what} and ${plural(copied.usage, "usage record")} copied; the books of both sides agree`,
          );
        }
      } finally {
        progress.end();
      }
    });
}

/** A URL, or a reference to one; everything else is a folder. */
function locationOf(place: string, { config: file }: Options, { env, cwd }: Terminal): StoreLocation {
  const isUrl = isReference(place) || place.includes("://");
  const address = isUrl ? locateStore({ file, store: place, env, cwd }) : null;
  return address ?? { dir: resolve(cwd, place) };
}
