import { SluiceCommand } from "../../src/cli/help.ts";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";

type Program = ReturnType<typeof buildProgram>;
type Performed = NonNullable<SluiceCommand["operation"]>;

/** The commands that say which operation they perform, with the fields that they set. */
export function entriesOf(program: Program): (readonly [command: string, performed: Performed])[] {
  const operation = program instanceof SluiceCommand ? program.operation : null;
  const name = fullName(program).replace("sluice ", "");
  return [
    ...(operation === null ? [] : [[name, operation] as const]),
    ...program.commands.flatMap(entriesOf),
  ];
}

/** What the command line and the admin API can both do: the command, and the operations that are its equal. */
export const equals: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    entriesOf(buildProgram({} as Terminal)).map(([command, { call }]) => [
      command,
      [call.replaceAll(/:(\w+)/g, "{$1}")],
    ]),
  ),
  usage: ["GET /usage", "GET /overview", "GET /usage/agents"],
  "requests show": ["GET /requests/{id}", "GET /requests/{id}/content"],
  "requests export": ["GET /content/export", "GET /content"],
  "content delete": ["DELETE /content", "DELETE /requests/{id}/content"],
  "models list": ["GET /models"],
  "models update": ["GET /prices", "POST /prices"],
  "models check": ["POST /models/check"],
  "ledger export": ["GET /ledger/export", "GET /entries"],
  "caps list": ["GET /caps", "GET /cap-values"],
  "config show": ["GET /config", "GET /config/toml"],
  "config diff": ["GET /config/check"],
  "config reload": ["POST /config/reload"],
  health: ["GET /health"],
};
