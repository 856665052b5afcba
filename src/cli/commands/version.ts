import type { Command } from "commander";
import { version } from "../../../package.json";
import { type JsonOption, newCommand } from "../help.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

/** Defined by the build, and only in an executable that was built in a checkout. */
declare const SLUICE_BUILD_COMMIT: string | undefined;
const commit = typeof SLUICE_BUILD_COMMIT === "undefined" ? null : SLUICE_BUILD_COMMIT;

export function versionCommand(terminal: Terminal): Command {
  return newCommand("version", "Show the version")
    .examples("sluice version", ["sluice version --json", "also its commit and the schemas it knows"])
    .action(async (options: JsonOption) => {
      const { platform, arch } = process;
      if (!options.json) return terminal.print(`sluice ${version} (bun ${Bun.version}, ${platform} ${arch})`);
      const { knownSchemas } = await import("../../store/open.ts");
      printJson(
        { version, commit, bun: Bun.version, schema: await knownSchemas(), platform, arch },
        terminal,
      );
    });
}
