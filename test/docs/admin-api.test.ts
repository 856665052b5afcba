import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { projectRoot } from "../architecture/imports.ts";

/** What the sources of the admin API answer with: a status and a code. */
const rejection = /(?:AdminError|refused)\(\s*(?!499)[45]\d\d,\s*"(\w+)"/g;
/** Codes of operations, and codes of the store with their own status. */
const withStatus = /^ {2}(\w+): [45]\d\d,$/gm;

test("the page about the admin API has every code that it returns", async () => {
  const codes = new Set<string>();
  for await (const file of new Glob("src/admin/**/*.ts").scan({ cwd: projectRoot })) {
    const source = await Bun.file(join(projectRoot, file)).text();
    const found = file.endsWith("admin-error.ts") ? source.matchAll(withStatus) : source.matchAll(rejection);
    for (const [, code = ""] of found) codes.add(code);
  }
  expect(codes.size).toBeGreaterThan(20);
  const page = readFileSync(join(projectRoot, "docs/admin-api.md"), "utf8");
  expect([...codes].filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
});
