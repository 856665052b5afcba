import type { Command } from "commander";
import { confirm, type YesOption } from "../../confirm.ts";
import { type ConfigOptions, newConfigCommand } from "../../help.ts";
import { printDone, Refused, type Terminal } from "../../terminal/terminal.ts";
import { locationOf } from "./location.ts";

interface Options extends ConfigOptions, YesOption {
  readonly at: string;
}

export function storeReopenCommand(terminal: Terminal): Command {
  return newConfigCommand("reopen", "Use data again that was moved away by `store copy`")
    .requiredOption("--at <dir|url>", "the data folder or the PostgreSQL database that was copied from")
    .option("--yes", "do not ask")
    .examples(["sluice store reopen --at ./sluice-data", "go on where the copy was made from"])
    .addHelpText("after", "\nWhat has happened in the copy since is not there: stop its gateways first.")
    .action(async (options: Options) => {
      const { movedTo, reopenStore } = await import("../../../store/open.ts");
      const place = locationOf(options.at, options, terminal);
      const moved = await movedTo(place);
      if (moved === null) throw new Refused(`${options.at} was not moved away; there is nothing to reopen`);
      await confirm(
        `Use ${options.at} again, without what has happened in ${moved.to} since?`,
        options,
        terminal,
      );
      await reopenStore(place);
      const document = { reopened: options.at, moved_to: moved.to };
      printDone(options.json, document, `${options.at} is in use again`, terminal);
    });
}
