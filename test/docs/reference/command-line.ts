import { stripVTControlCharacters } from "node:util";
import type { Command } from "commander";
import { termsOf } from "../../../config/release/man-page.ts";
import { newOperationCommand, SluiceCommand } from "../../../src/cli/help.ts";
import { fullName } from "../../../src/cli/program.ts";
import { cell } from "./cell.ts";

/** The page of all commands, from the definitions that `--help` prints. */
export function commandLinePage(program: Command): string {
  const groups = program.commands.map((command) => [command, ...leavesOf(command)] as const);
  return `# Command line

Every command of \`sluice\`, generated from the definitions that \`sluice --help\` prints.
Most commands work whether or not the gateway runs. \`config show\`, \`config diff\`, \`config reload\`, \`connect\` and \`health\` need one.
Exit status: 0 for success, 1 if the command was rejected or failed, 2 if its arguments are wrong.

## Shared options

Most commands have these options. Each command lists the ones that it has.

${tableOf(shared).trimStart()}${groups.map(([command, ...leaves]) => section(command, leaves)).join("\n")}`;
}

function leavesOf(command: Command): Command[] {
  return command.commands.flatMap((each) => (each.commands.length === 0 ? [each] : leavesOf(each)));
}

function section(command: Command, leaves: readonly Command[]): string {
  const heading = `\n## \`${fullName(command)}\`\n\n${plain(command.description())}\n`;
  if (leaves.length === 0) return `${heading}${usageOf(command)}`;
  const parts = leaves.map(
    (leaf) => `\n### \`${fullName(leaf)}\`\n\n${plain(leaf.description())}\n${usageOf(leaf)}`,
  );
  return heading + parts.join("");
}

type Term = readonly [term: string, meaning: string];

/** Options that most commands have. */
const shared = ownTerms(newOperationCommand("shared", ""));

function ownTerms(command: Command): readonly Term[] {
  return termsOf(command).filter(([term]) => !/^(?:-h, )?--help$/.test(term));
}

function isShared([term, meaning]: Term): boolean {
  return shared.some(([other, same]) => other === term && same === meaning);
}

function usageOf(command: Command): string {
  const terms = ownTerms(command);
  const names = terms.filter(isShared).map(([term]) => `\`${term.split(" ")[0]}\``);
  const others = names.length === 0 ? "" : `\n[Shared options](#shared-options): ${names.join(", ")}.\n`;
  const table = tableOf(terms.filter((term) => !isShared(term)));
  return `\n\`\`\`text\n${fullName(command)} ${command.usage()}\n\`\`\`\n${table}${others}${examplesOf(command)}`;
}

function tableOf(terms: readonly Term[]): string {
  const rows = terms.map(([term, meaning]) => `| \`${cell(term)}\` | ${cell(plain(meaning))} |`);
  return rows.length === 0 ? "" : `\n| | |\n|---|---|\n${rows.join("\n")}\n`;
}

function examplesOf(command: Command): string {
  if (!(command instanceof SluiceCommand) || command.exampleLines.length === 0) return "";
  const lines = command.exampleLines.map(([line, meaning]) =>
    meaning === "" ? line : `${line}   # ${meaning}`,
  );
  return `\n\`\`\`console\n${lines.join("\n")}\n\`\`\`\n`;
}

function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll("<", "\\<");
}
