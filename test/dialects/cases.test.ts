import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { goldenFolder } from "./golden-file.ts";

const root = join(import.meta.dir, "../..");
const list = readFileSync(join(root, "test/dialects/CASES.md"), "utf8");
const listed = [...list.matchAll(/^\| ([A-Z]\d{1,2}) \|/gm)].map(([, code = ""]) => code);
/** A code, and no part of an address, a time or a digest. */
const codes = /(?<![\w}$.#+=-]|(?<!\d)\/)(?:[A-Z]\d\d|T[1-9])(?![\w.=+])/g;
/** Proved by tests of connections that do not name it. */
const elsewhere = ["C78"];

function sources(folder: string): readonly string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const named = files.filter((file) => /\.tsx?$/.test(file) && !import.meta.path.endsWith(file));
  return named.map((file) => readFileSync(join(root, folder, file), "utf8"));
}

function codesIn(text: string): readonly string[] {
  return text.match(codes) ?? [];
}

/** Golden files have the code in their name, and begin with their title. */
function goldenCodes(): readonly string[] {
  return readdirSync(goldenFolder).flatMap((file) => {
    const [title = ""] = readFileSync(join(goldenFolder, file), "utf8").split("\n", 1);
    return codesIn(`${file.split("-", 1)} ${title}`);
  });
}

const comments = /\/\/.*|\/\*[\s\S]*?\*\//g;

test("every code in tests, comments and golden files is explained in test/dialects/CASES.md", () => {
  // In the code of src such letters are drawings and times.
  const ofComments = sources("src")
    .flatMap((text) => text.match(comments) ?? [])
    .flatMap(codesIn);
  const used = [...sources("test").flatMap(codesIn), ...ofComments, ...goldenCodes()];
  expect(used.length).toBeGreaterThan(500);
  expect([...new Set(used)].filter((code) => !listed.includes(code)).toSorted()).toEqual([]);
});

test("every case in test/dialects/CASES.md has its proof: a golden file, or a test that names it", () => {
  const named = sources("test").flatMap((text) => codesIn(text.replaceAll(comments, "")));
  const proved = new Set([...named, ...goldenCodes(), ...elsewhere]);
  expect(listed.filter((code) => !proved.has(code))).toEqual([]);
});

test("no case is listed twice", () => {
  expect(listed.filter((code, index) => listed.indexOf(code) !== index)).toEqual([]);
});
