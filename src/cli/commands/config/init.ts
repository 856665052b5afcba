import type { Command } from "commander";
import { configFileName } from "../../../config/defaults.ts";
import { builtInConfig } from "../../../config/source.ts";
import { type JsonOption, newCommand } from "../../help.ts";
import { writeNewFile } from "../../named-file.ts";
import { printDone, type Terminal } from "../../terminal/terminal.ts";

export function configInitCommand(terminal: Terminal): Command {
  return newCommand("init", "Write a configuration to start from, with everything explained in it")
    .argument("[file]", "where to write it; - prints it", configFileName)
    .examples(
      ["sluice config init", "writes ./sluice.toml; an existing file is never overwritten"],
      ["sluice config init -", "prints it instead"],
    )
    .action((file: string, options: JsonOption) => {
      if (file === "-") {
        terminal.print(options.json ? JSON.stringify({ toml: builtInConfig }) : builtInConfig.trimEnd());
        return;
      }
      const path = writeNewFile(builtInConfig, file, terminal);
      const next = `sluice config check${file === configFileName ? "" : ` ${file}`}`;
      printDone(options.json, { file: path }, `wrote ${path}\n  Next: edit it, then \`${next}\``, terminal);
    });
}

export function configSchemaCommand(terminal: Terminal): Command {
  return newCommand("schema", "Print the configuration's JSON Schema, for editors and other tools")
    .examples("sluice config schema > sluice.schema.json")
    .action(async () => {
      const { configSchema } = await import("../../../config/schema.ts");
      const schema = {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        title: "Sluice configuration",
        ...configSchema,
      };
      terminal.print(JSON.stringify(schema, null, 2));
    });
}
