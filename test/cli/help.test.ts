import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { buildProgram, fullName } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal/terminal.ts";
import { newPlace, sluice } from "./fixtures.ts";

const golden = new URL("./golden/help.txt", import.meta.url).pathname;

/** Every command, depth first, as the words that call it. */
function commandLines(): string[][] {
  const walk = (command: ReturnType<typeof buildProgram>): string[][] => [
    fullName(command).split(" ").slice(1),
    ...command.commands.flatMap(walk),
  ];
  return walk(buildProgram({} as Terminal));
}

/** `UPDATE_GOLDEN=1 bun test test/cli/help` writes the file again; read the difference before it is committed. */
test("the help of every command reads as it is written down", async () => {
  const pages: string[] = [];
  for (const words of commandLines()) {
    const { code, stdout, stderr } = await sluice(newPlace(), ...words, "--help");
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" });
    pages.push(`$ ${["sluice", ...words, "--help"].join(" ")}\n\n${stdout}`);
  }
  const text = pages.join(`\n${"─".repeat(100)}\n`);
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(golden, text);
  expect(text).toBe(readFileSync(golden, "utf8"));
});

test("a command line makes the command that it starts with, and completion makes all", () => {
  const all = buildProgram({} as Terminal).commands.map((command) => command.name());
  for (const word of all) {
    const made = buildProgram({} as Terminal, false, word).commands.map((command) => command.name());
    expect(made).toEqual(word === "completion" ? all : [word]);
  }
});

test("an option that takes one of several values shows them all", () => {
  const walk = (command: ReturnType<typeof buildProgram>): void => {
    for (const { flags, description, argChoices = [] } of command.options)
      for (const value of argChoices) expect(`${flags} ${description}`, fullName(command)).toContain(value);
    command.commands.forEach(walk);
  };
  walk(buildProgram({} as Terminal));
});

test("every command that does something takes --json", async () => {
  for (const words of commandLines().slice(1)) {
    const { stdout } = await sluice(newPlace(), ...words, "--help");
    expect(stdout.includes("--json") || stdout.includes("Commands:")).toBe(true);
  }
});

test("every list and report takes --csv", async () => {
  const reports = ["usage", "statement", "export", "nodes", "status", "reconcile", "audit", "check"];
  const lists = commandLines().filter(
    ([group, name]) =>
      name === "list" ||
      // What requests say has no columns.
      (!["config", "store", "requests"].includes(group ?? "") && reports.includes(name ?? group ?? "")),
  );
  expect(lists.length).toBeGreaterThan(11);
  for (const words of lists) {
    const { stdout } = await sluice(newPlace(), ...words, "--help");
    expect({ words, csv: stdout.includes("--csv") }).toEqual({ words, csv: true });
  }
});

test("help has colours on a terminal and fits it", async () => {
  const { stdout } = await sluice(newPlace({ columns: 72 }), "keys", "create", "--help");
  expect(stdout).toContain("\u001b[1mUsage:");
  const [description = ""] = stdout.split("Examples:");
  for (const line of description.split("\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(72);
});

test("without a command the help goes to stderr, as a misuse", async () => {
  const { code, stdout, stderr } = await sluice(newPlace());
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("Usage: sluice");
});

test("an unknown command says which one was meant", async () => {
  const { code, stderr } = await sluice(newPlace(), "srve");
  expect(code).toBe(2);
  expect(stderr).toContain("Did you mean serve?");
});
