import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { projectRoot } from "../architecture/imports.ts";

/** The sources, `…` for each value in a text. */
async function sourceTexts(): Promise<string> {
  const texts: string[] = [];
  for await (const file of new Glob("src/**/*.ts").scan({ cwd: projectRoot })) {
    texts.push(await Bun.file(join(projectRoot, file)).text());
  }
  return texts
    .join("\n")
    .replaceAll(/\$\{plural\([^{}]*"(\w+)"\)\}/g, "… $1")
    .replaceAll(/\$\{[^{}]*\}/g, "…")
    .toLowerCase();
}

/** The messages that the page quotes in the first column of a table, `…` for each value. */
function quotedMessages(): string[] {
  const page = readFileSync(join(projectRoot, "docs/troubleshooting.md"), "utf8");
  const rows = page.slice(page.indexOf("| Message |")).split("\n\n")[0]?.split("\n").slice(2) ?? [];
  const inCells = rows.flatMap((row) => (row.split("|")[1] ?? "").match(/`[^`]* [^`]*`/g) ?? []);
  const inCodes = [...page.matchAll(/^\| 4\d\d, "([^"]+)"/gm)].map(([, text = ""]) => text);
  return [...inCells.map((cell) => cell.slice(1, -1)), ...inCodes];
}

test("every message that the page on troubleshooting quotes is one of the program's", async () => {
  const sources = await sourceTexts();
  const messages = quotedMessages();
  expect(messages.length).toBeGreaterThan(5);
  const unknown = messages.filter((message) => {
    const text = message.replaceAll(/env:NAME|\bX\b|127\.0\.0\.1|\b\d+\b/g, "…").toLowerCase();
    return !sources.includes(text);
  });
  expect(unknown).toEqual([]);
});
