import type { Command } from "commander";

export interface Completion {
  /** The command path without `sluice`: "" or `keys create`. */
  readonly path: string;
  readonly words: readonly Word[];
  /** Options with a fixed set of values, and their values. */
  readonly choices: ReadonlyMap<string, readonly string[]>;
}

interface Word {
  readonly text: string;
  readonly meaning: string;
}

/** Derived from the commands themselves, so that a new option needs no second list. */
export function describe(command: Command, path: readonly string[] = []): Completion[] {
  const choices = new Map(
    command.options.flatMap((option) =>
      option.long != null && option.argChoices !== undefined
        ? [[option.long, option.argChoices] as const]
        : [],
    ),
  );
  const words = [
    ...command.commands.map((each) => ({ text: each.name(), meaning: each.description() })),
    ...command.registeredArguments.flatMap(({ argChoices }) =>
      (argChoices ?? []).map((text) => ({ text, meaning: "" })),
    ),
    ...command.options.flatMap(({ long, description }) =>
      long == null ? [] : [{ text: long, meaning: description }],
    ),
    { text: "--help", meaning: "show this help" },
  ];
  return [
    { path: path.join(" "), words, choices },
    ...command.commands.flatMap((each) => describe(each, [...path, each.name()])),
  ];
}
