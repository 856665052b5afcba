import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { configFileName } from "../../../config/defaults.ts";
import type { YesOption } from "../../confirm.ts";
import { type JsonOption, newCommand } from "../../help.ts";
import { clientSecretVariable, databaseVariable, type InitChoices, teamAccount } from "../../init/choices.ts";
import { writeNewFile } from "../../named-file.ts";
import { CommandError, printDone, type Terminal } from "../../terminal/terminal.ts";

export function configInitCommand(terminal: Terminal): Command {
  return newCommand("init", "Ask what to serve, and write a commented configuration")
    .argument("[file]", "where to write it; - prints it without asking", configFileName)
    .option("--yes", "take what is found in the environment, and ask nothing")
    .option("--local", "add the models of Ollama, at OLLAMA_HOST or its usual port")
    .examples(
      ["sluice config init", "asks, and writes ./sluice.toml; an existing file is never overwritten"],
      ["OPENAI_API_KEY=… sluice config init --yes", "serves the providers whose keys are in the environment"],
      ["sluice config init -", "prints what --yes would write"],
    )
    .action((file: string, options: InitOptions) => init(file, options, terminal));
}

interface InitOptions extends JsonOption, YesOption {
  readonly local?: true;
}

async function init(file: string, options: InitOptions, terminal: Terminal): Promise<void> {
  const { foundChoices } = await import("../../init/found.ts");
  const { initText } = await import("../../init/text.ts");
  const found = foundChoices(terminal.env, options.local === true);
  if (file === "-") {
    const toml = initText(found);
    terminal.print(options.json ? JSON.stringify({ toml }) : toml.trimEnd());
    return;
  }
  const path = resolve(terminal.cwd, file);
  if (existsSync(path))
    throw new CommandError(`${path} already exists; move it away, or pass a different file`);
  if (!options.yes && !terminal.interactive)
    throw new CommandError("this needs a terminal; pass --yes to use what is found in the environment");
  const { askChoices, yesNo } = await import("../../init/ask.ts");
  const choices = options.yes ? await withOwnLists(found, terminal) : await askChoices(found, terminal);
  const text = initText(choices);
  await rejectInvalid(text, terminal);
  if (!options.yes && !(await yesNo(`Write ${path}?`, true, terminal)))
    throw new CommandError("nothing was written");
  writeNewFile(text, file, terminal);
  const providers = [
    ...choices.vendors.map(({ vendor }) => vendor.provider),
    ...choices.extra.map((each) => each.provider),
  ];
  const steps = nextSteps(choices, file).map((step) => `\n  ${step}`);
  printDone(options.json, { file: path, providers }, `wrote ${path}${steps.join("")}`, terminal);
}

/** Adds every model that these providers list with a price. */
async function withOwnLists(found: InitChoices, terminal: Terminal): Promise<InitChoices> {
  const { ownListOf } = await import("../../init/other-models.ts");
  const lists = await Promise.all(found.extra.map((provider) => ownListOf(provider, terminal)));
  for (const { note } of lists) if (note !== null) terminal.note(`${terminal.noteStyle.warn("!")} ${note}`);
  const extra = found.extra.map((provider, at) => ({ ...provider, models: lists[at]?.models ?? [] }));
  return { ...found, extra };
}

/** Throws if the text would not load, so that no invalid file is written. */
async function rejectInvalid(text: string, { env }: Terminal): Promise<void> {
  const { examineSettings } = await import("../../../config/load.ts");
  // Its secrets can be set later.
  const placeholders = {
    [databaseVariable]: "postgres://sluice@localhost/sluice",
    [clientSecretVariable]: "set-later",
  };
  const [problem] = examineSettings({ text, env: { ...placeholders, ...env } }).problems;
  if (problem !== undefined)
    throw new CommandError(`nothing was written: ${problem.path}: ${problem.message}`);
}

function nextSteps({ extra, storeVariable, signIn }: InitChoices, file: string): string[] {
  const configOption = file === configFileName ? "" : ` --config ${file}`;
  return [
    ...(storeVariable === null ? [] : [`Set ${storeVariable} to the database's address, with its password`]),
    ...(signIn === null ? [] : [`Set ${clientSecretVariable} to the client's secret at the issuer`]),
    ...(signIn?.keyCap == null
      ? []
      : [
          `Next: \`sluice accounts create --mode credit --label ${teamAccount} --credit 100\`, which is billed for their keys`,
        ]),
    ...extra
      .filter(({ models }) => models.length === 0)
      .map(
        ({ provider }) =>
          `Next: \`sluice models discover ${provider} --write${configOption}\` for its models`,
      ),
    `Next: \`sluice config check${file === configFileName ? "" : ` ${file}`}\`, then \`sluice serve${configOption}\``,
  ];
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
