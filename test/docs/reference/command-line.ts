import { stripVTControlCharacters } from "node:util";
import type { Command } from "commander";
import { termsOf } from "../../../config/release/man-page.ts";
import { fullName } from "../../../src/cli/program.ts";
import { cell } from "./cell.ts";

/** The page of all commands, from the definitions that `--help` prints. */
export function commandLinePage(program: Command): string {
  const groups = program.commands.map((command) => [command, ...leavesOf(command)] as const);
  return `# Command line

Every command of \`sluice\`, generated from the definitions that \`sluice --help\` prints.
Commands read the data folder or the database directly, so they work whether or not the gateway runs.
Exit status: 0 for success, 1 if the command was rejected or failed, 2 if its arguments are wrong.
${groups.map(([command, ...leaves]) => section(command, leaves)).join("\n")}`;
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

function usageOf(command: Command): string {
  const listed = termsOf(command).filter(([term]) => !/^(?:-h, )?--help$/.test(term));
  const rows = listed.map(([term, meaning]) => `| \`${cell(term)}\` | ${cell(plain(meaning))} |`);
  const table = rows.length === 0 ? "" : `\n| | |\n|---|---|\n${rows.join("\n")}\n`;
  return `\n\`\`\`text\n${fullName(command)} ${command.usage()}\n\`\`\`\n${table}`;
}

function plain(text: string): string {
  return stripVTControlCharacters(text).replaceAll("<", "\\<");
}
