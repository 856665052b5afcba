import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../architecture/imports.ts";
import { referencePages } from "./reference/pages.ts";

test("the reference pages are as the program's own definitions make them", () => {
  for (const [name, text] of Object.entries(referencePages())) {
    const page = readFileSync(join(projectRoot, "docs/reference", name), "utf8");
    expect(page === text, `docs/reference/${name} is out of date: run \`bun run docs\``).toBe(true);
  }
});
