import type { Command } from "commander";
import { version } from "../../../package.json";
import { examples, type JsonOption, newCommand } from "../help.ts";
import { printJson, type Terminal } from "../terminal/terminal.ts";

export function versionCommand(terminal: Terminal): Command {
  return newCommand("version", "Show the version")
    .addHelpText("after", examples(["sluice version", ""]))
    .action((options: JsonOption) => {
      const facts = { version, bun: Bun.version, platform: process.platform, arch: process.arch };
      if (options.json) printJson(facts, terminal);
      else terminal.print(`sluice ${version} (bun ${facts.bun}, ${facts.platform} ${facts.arch})`);
    });
}
