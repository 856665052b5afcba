import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { projectRoot } from "../architecture/imports.ts";

const pages = readdirSync(join(projectRoot, "docs"), { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".md"),
);
const index = readFileSync(join(projectRoot, "docs/README.md"), "utf8");

test("the index has every page once", () => {
  const listed = [...index.matchAll(/\]\(([\w/-]+\.md)\)/g)].map(([, name = ""]) => name);
  expect(listed.toSorted()).toEqual(pages.filter((name) => name !== "README.md").toSorted());
});

test.each([
  "README.md",
  "SECURITY.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...pages.map((name) => `docs/${name}`),
])("%s points to files and headings that are there", (path) => {
  const text = readFileSync(join(projectRoot, path), "utf8");
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
  for (const [, file = "", heading] of links) {
    const target = file === "" ? path : join(dirname(path), file);
    expect(existsSync(join(projectRoot, target)), `${path} → ${target}`).toBe(true);
    if (heading === undefined || !target.endsWith(".md")) continue;
    const anchors = readFileSync(join(projectRoot, target), "utf8").matchAll(/^#+ (.+)$/gm);
    expect([...anchors].map(([, title = ""]) => anchor(title))).toContain(heading);
  }
});

/** As GitHub makes them. */
function anchor(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}
