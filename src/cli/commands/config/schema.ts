import type { Command } from "commander";
import { newCommand } from "../../help.ts";
import type { Terminal } from "../../terminal/terminal.ts";

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
