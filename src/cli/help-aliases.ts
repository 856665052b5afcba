import type { Command } from "commander";
import { didYouMean } from "../config/suggest.ts";
import { Misuse } from "./terminal/terminal.ts";

/** `sluice help keys create`, `sluice keys help` and `sluice --version`, in the words of our own commands. */
export function expandHelpAliases(argv: readonly string[], program: Command): readonly string[] {
  const [first = "", second, ...further] = argv;
  if (first === "--version" || first === "-V") return ["version", ...argv.slice(1)];
  if (first === "help") return helpOn(argv.slice(1), program);
  if (second === "help") return helpOn([first, ...further], program);
  // Commander answers with the help of the last command that it knows.
  if (argv.some((word) => word === "--help" || word === "-h"))
    refuseUnknown(wordsBeforeOptions(argv), program);
  return argv;
}

function wordsBeforeOptions(argv: readonly string[]): readonly string[] {
  const options = argv.findIndex((word) => word.startsWith("-"));
  return options === -1 ? argv : argv.slice(0, options);
}

function helpOn(names: readonly string[], program: Command): readonly string[] {
  refuseUnknown(
    names.filter((name) => !name.startsWith("-")),
    program,
  );
  return [...names, "--help"];
}

/** What follows a command without commands of its own are its arguments. */
function refuseUnknown(names: readonly string[], program: Command): void {
  let found = program;
  for (const name of names) {
    if (found.commands.length === 0) return;
    const next = found.commands.find((command) => command.name() === name);
    if (next === undefined) {
      const known = found.commands.map((command) => command.name());
      throw new Misuse(`there is no command "${names.join(" ")}"${didYouMean(name, known)}`);
    }
    found = next;
  }
}
