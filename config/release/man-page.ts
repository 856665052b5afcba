import { stripVTControlCharacters } from "node:util";
import { type Command, Help } from "commander";
import { helpStyle } from "../../src/cli/help.ts";
import { fullName } from "../../src/cli/program.ts";

/** `sluice(1)`, written from the commands themselves, so that it cannot differ from `--help`. */
export function manPage(program: Command, version: string, time: Date): string {
  const day = time.toISOString().slice(0, 10);
  const commands = everyCommand(program).filter((command) => command !== program);
  const sections = [
    `.TH SLUICE 1 "${day}" "Sluice ${version}" "User Commands"`,
    `.SH NAME\nsluice \\- ${escaped(sentence(program.description()))}`,
    ".SH SYNOPSIS\n.B sluice\n.I command\n[\n.I options\n]",
    `.SH DESCRIPTION\n${escaped(program.description())}\nEvery command has \\fB\\-\\-json\\fR and \\fB\\-\\-help\\fR.`,
    ".SH COMMANDS",
    ...commands.filter((command) => command.commands.length === 0).map(commandSection),
    `.SH "EXIT STATUS"\n0 if it was done, 1 if it was rejected or failed, 2 if it was called wrongly.`,
  ];
  return `${sections.join("\n")}\n`;
}

function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

/** A command's arguments and options with what they mean, in the order of its help. */
export function termsOf(command: Command): readonly (readonly [term: string, meaning: string])[] {
  const help = Object.assign(new Help(), helpStyle);
  return [
    ...help.visibleArguments(command).map((each) => [each.name(), each.description] as const),
    ...help.visibleOptions(command).map((each) => [each.flags, each.description] as const),
  ];
}

function commandSection(command: Command): string {
  const listed = termsOf(command).map(([term, meaning]) => `.TP\n.B ${escaped(term)}\n${escaped(meaning)}`);
  const usage = `${fullName(command)} ${command.usage()}`;
  return [`.SS "${escaped(usage)}"`, escaped(command.description()), ...listed].join("\n");
}

/** "A self-hosted gateway." becomes "a self-hosted gateway", as a page's name has it. */
function sentence(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");
}

/** Text as roff: no escapes, no hyphens that become dashes, and no line that looks like a request. */
function escaped(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll('"', "\\(dq")
    .replaceAll(/^([.'])/gm, "\\&$1");
}
