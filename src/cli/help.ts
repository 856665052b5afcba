import { Argument, Command, Help, type HelpConfiguration, Option, type ParseOptionsResult } from "commander";
import { coloured } from "./terminal/style.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** Options that most commands share. In the help they follow the command's own. */
const shared = new WeakSet<Option>();

function sharedOption(flags: string, description: string): Option {
  const option = new Option(flags, description);
  shared.add(option);
  return option;
}

/** Commander strips the colours if the output is not a terminal. */
export const helpStyle: HelpConfiguration = {
  minWidthToWrap: 24,
  styleTitle: (title) => coloured.bold(title),
  styleCommandText: (text) => coloured.accent(text),
  styleSubcommandText: (text) => coloured.accent(text),
  styleOptionText: (text) => coloured.accent(text),
  styleArgumentText: (text) => coloured.accent(text),
  // The descriptions name choices and defaults themselves.
  optionDescription: (option) => option.description,
  visibleOptions: (command) => {
    const all = new Help().visibleOptions(command);
    const isShared = (option: Option) => shared.has(option) || option.long === "--help";
    return [...all.filter((option) => !isShared(option)), ...all.filter(isShared)];
  },
  subcommandTerm: (command) => {
    const names = command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    );
    return [command.name(), ...names].join(" ");
  },
};

/** A command line to paste and, if needed, what it does. */
export type Example = string | readonly [line: string, meaning: string];

export class SluiceCommand extends Command {
  /** Whether it works on data of this machine, unlike an operation. */
  needsMachine = false;
  /** Its examples with their meanings, "" without one. */
  exampleLines: readonly (readonly [line: string, meaning: string])[] = [];
  /** The one operation that it performs, and the fields that it can set. */
  operation: { readonly call: string; readonly fields: readonly string[] } | null = null;

  /** `-5/day` where a value is missing is meant as the value, and its parser says what to pass instead. */
  override parseOptions(words: string[]): ParseOptionsResult {
    const { operands, unknown } = super.parseOptions(words);
    const all = [...operands, ...unknown];
    const hasOption = unknown.some((word) => /^-(-|.$)/.test(word));
    if (hasOption || all.length > this.registeredArguments.length) return { operands, unknown };
    return { operands: all, unknown: [] };
  }

  examples(...list: readonly Example[]): this {
    const pairs = list.map((each) => (typeof each === "string" ? ([each, ""] as const) : each));
    this.exampleLines = pairs;
    const width = Math.max(...pairs.map(([line, meaning]) => (meaning === "" ? 0 : line.length)));
    const lines = pairs.map(([line, meaning]) =>
      meaning === "" ? `  ${line}` : `  ${line.padEnd(width)}   ${coloured.dim(`# ${meaning}`)}`,
    );
    return this.addHelpText("after", `\n${coloured.bold("Examples:")}\n${lines.join("\n")}`);
  }
}

type Parser = (text: string) => unknown;

export function argument(flags: string, description: string, parse?: Parser): Argument {
  const made = new Argument(flags, description);
  return parse === undefined ? made : made.argParser(parse);
}

export function option(flags: string, description: string, parse?: Parser): Option {
  const made = new Option(flags, description);
  return parse === undefined ? made : made.argParser(parse);
}

export function requiredOption(flags: string, description: string, parse?: Parser): Option {
  return option(flags, description, parse).makeOptionMandatory();
}

export function choiceOption(name: string, choices: readonly string[], description: string): Option {
  return new Option(`--${name} <${choices.join("|")}>`, description).choices(choices);
}

/** A command with the common settings: `--json`, and no excess arguments. */
export function newCommand(name: string, summary: string): SluiceCommand {
  return new SluiceCommand(name)
    .description(summary)
    .addOption(sharedOption("--json", "print the result as JSON"))
    .helpOption("-h, --help", "show this help")
    .allowExcessArguments(false);
}

/** A command that uses the data folder, or the database in its place. */
export function newDataCommand(name: string, summary: string): SluiceCommand {
  return newCommand(name, summary)
    .addOption(sharedOption("--data <dir>", "the data folder (SLUICE_DATA; default: ./sluice-data)"))
    .addOption(sharedOption("--store <url>", "the PostgreSQL database that has the data (SLUICE_STORE)"))
    .addOption(
      sharedOption("--config <file>", "configuration file with the data folder or database (SLUICE_CONFIG)"),
    );
}

/** A command on the data itself, which a gateway elsewhere cannot perform. */
export function newMachineCommand(name: string, summary: string): SluiceCommand {
  const command = newDataCommand(name, summary);
  command.needsMachine = true;
  return command;
}

/** A command that performs operations of the admin API, on this machine or at a gateway elsewhere. */
export function newOperationCommand(name: string, summary: string): SluiceCommand {
  return withGateway(newDataCommand(name, summary));
}

function withGateway(command: SluiceCommand): SluiceCommand {
  const description = "a gateway elsewhere, called with SLUICE_TOKEN or a remembered token";
  return command.addOption(sharedOption("--gateway <url|name>", description));
}

/** Whether the command can be performed at a gateway elsewhere. */
export function isRemoteCapable(command: Command): boolean {
  return command.options.some(({ long }) => long === "--gateway");
}

/** Adds `--csv`, which every list and report has in addition to `--json`. */
export function withCsv(command: SluiceCommand): SluiceCommand {
  return command.addOption(sharedOption("--csv", "print comma-separated values").conflicts("json"));
}

export function newConfigCommand(name: string, summary: string): SluiceCommand {
  const config =
    "the configuration (SLUICE_CONFIG; default: ./sluice.toml, /etc/sluice/sluice.toml or the built-in one)";
  return newCommand(name, summary).addOption(sharedOption("--config <file>", config));
}

export interface JsonOption {
  readonly json?: true;
}

export interface CsvOption {
  readonly csv?: true;
}

export interface ConfigOptions extends JsonOption {
  readonly config?: string;
}

export interface DataOptions extends ConfigOptions {
  readonly data?: string;
  readonly store?: string;
}

export function group(name: string, summary: string, commands: readonly Command[]): Command {
  const parent = new SluiceCommand(name).description(summary).helpOption("-h, --help", "show this help");
  for (const command of commands) parent.addCommand(command);
  return parent.helpCommand(false);
}

export type CommandMaker = (terminal: Terminal) => Command;

export function commandGroup(name: string, summary: string, makers: readonly CommandMaker[]): CommandMaker {
  return (terminal) =>
    group(
      name,
      summary,
      makers.map((make) => make(terminal)),
    );
}
