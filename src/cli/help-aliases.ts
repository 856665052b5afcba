import type { Command } from "commander";
import { didYouMean } from "../config/suggest.ts";
import { Misuse } from "./failure.ts";

/** `sluice help keys create`, `sluice keys help` and `sluice --version`, in the words of our own commands. */
export function expandHelpAliases(argv: readonly string[], program: Command): readonly string[] {
  const [first = "", second, ...further] = argv;
  if (first === "--version" || first === "-V") return ["version", ...argv.slice(1)];
  if (first === "help") return helpOn(argv.slice(1), program);
  return second === "help" ? helpOn([first, ...further], program) : argv;
}

function helpOn(names: readonly string[], program: Command): readonly string[] {
  let found = program;
  for (const name of names.filter((each) => !each.startsWith("-"))) {
    const next = found.commands.find((command) => command.name() === name);
    if (next === undefined) {
      const known = found.commands.map((command) => command.name());
      throw new Misuse(`there is no command "${names.join(" ")}"${didYouMean(name, known)}`);
    }
    found = next;
  }
  return [...names, "--help"];
}
