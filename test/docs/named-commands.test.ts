import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { buildProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";

/** Rules, pages and messages: all that can tell an operator to run a command. */
const places = [
  "config/**/*.yml",
  "config/**/*.{json,toml,conf,service}",
  "docs/**/*.md",
  "*.md",
  "src/**/*.{ts,tsx}",
];

/** Their keys are derived with labels that look like commands. */
const labels = /^src\/admin\/auth\/(?:sign-ins\/tokens|oidc\/attempt)\.ts$/;

interface Named {
  readonly file: string;
  readonly command: string;
}

function namedCommands(): readonly Named[] {
  const files = places.flatMap((place) => [...new Bun.Glob(place).scanSync(".")]);
  return [...new Set(files)]
    .filter((file) => !labels.test(file))
    .flatMap((file) => {
      const text = readFileSync(file, "utf8");
      // A message has its command in marks, an alert has it alone.
      const found = [...text.matchAll(/\\?`(sluice [a-z][^`\n]*?)\\?`|"(sluice [a-z][^"\n]*)"/g)];
      return found.map(([, marked, alone]) => ({ file, command: marked ?? alone ?? "" }));
    });
}

/** Words as a shell splits them, with what a reader or a program puts in as one word. */
function wordsOf(command: string): readonly string[] {
  const filled = command.replaceAll(/(?<= )\$\{[^{}]*\}/g, "X").replaceAll(/\$\{[^{}]*(?:\}|$)/g, "");
  const [first = ""] = filled.split(/ (?:[|>#;]|&&) ?|;/);
  const words = first.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return words.slice(1).filter((word) => word !== "…" && word !== "\\");
}

/** Why the program does not know the command; null if it does. */
function mistakeIn(command: string, program: Command): string | null {
  let [current, words] = [program, wordsOf(command)];
  for (;;) {
    const [name] = words;
    const next = current.commands.find((each) => each.name() === name || each.aliases().includes(name ?? ""));
    if (next === undefined) break;
    [current, words] = [next, words.slice(1)];
  }
  const [word] = words;
  if (current.commands.length > 0 && word !== "help" && word !== undefined && /^[a-z][\w-]*$/.test(word))
    return `there is no command ${word}`;
  const known = new Set(["--help", "-h", "--json", "--version"]);
  for (let each: Command | null = current; each !== null; each = each.parent)
    for (const { long, short } of each.options) known.add(long ?? "").add(short ?? "");
  const unknown = words
    .map((each) => each.replace(/[=,.].*$/, ""))
    .filter((each) => /^--?[a-z]/.test(each) && !known.has(each));
  return unknown.length === 0 ? null : `there is no option ${unknown.join(", ")}`;
}

test("every command that rules, pages and messages name exists, with its options", () => {
  const program = buildProgram({} as Terminal);
  const named = namedCommands();
  expect(named.length).toBeGreaterThan(300);
  const mistakes = named.flatMap(({ file, command }) => {
    const mistake = mistakeIn(command, program);
    return mistake === null ? [] : [`${file}: ${command}: ${mistake}`];
  });
  expect(mistakes).toEqual([]);
});

test("a command or an option that is gone is found", () => {
  const program = buildProgram({} as Terminal);
  expect(mistakeIn("sluice batches list --open", program)).toBe("there is no option --open");
  expect(mistakeIn("sluice exchanges show X", program)).toBe("there is no command exchanges");
  expect(mistakeIn("sluice keys create --mode credit --credit 5", program)).toBeNull();
});
