import type { Command } from "commander";
import { locateData } from "../../../config/locate-data.ts";
import { type DataOptions, newDataCommand } from "../../help.ts";
import { type ServedConfig, servedConfig } from "../../serve/files-for-commands.ts";
import { printJson, Refused, type Terminal } from "../../terminal/terminal.ts";

export function configShowCommand(terminal: Terminal): Command {
  return newDataCommand("show", "Print the configuration that is in force, without secrets")
    .examples(["sluice config show", "what the gateway of this data folder runs with"])
    .action(async (options: DataOptions) => {
      const { tomlText } = await import("../../../config/toml-text.ts");
      const { file, written } = configInForce(options, terminal);
      if (options.json) return printJson({ file, config: written }, terminal);
      terminal.note(terminal.noteStyle.dim(`# ${file ?? "the built-in configuration"}`));
      terminal.print(tomlText(written).trimEnd());
    });
}

/** As the gateway of this data folder has written it down. */
export function configInForce({ config: file, data }: DataOptions, { env, cwd }: Terminal): ServedConfig {
  const dir = locateData({ file, data, env, cwd });
  const served = servedConfig(dir);
  if (served !== null) return served;
  throw new Refused(
    `no gateway has run on ${dir}, so no configuration is in force; name its folder with --data`,
  );
}
