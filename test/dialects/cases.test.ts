import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { goldenFolder } from "./golden-file.ts";

const caseCount = 85;
/** About connections, not about words: the gateway's own tests prove them. */
const elsewhere = ["C78"];
const tests = join(import.meta.dir, "..");

/** A case is proved by a golden file of its number, or by a test whose name has it. */
test("every translation case has its proof", () => {
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".test.ts"));
  const named = sources.flatMap((file) => {
    const text = readFileSync(join(tests, file), "utf8");
    return [...text.matchAll(/(?:test|describe|it)\(\s*["'`][^"'`]*?((?:\bC\d\d\b[,: ]*)+)/g)].flatMap(
      (match) => match[1]?.match(/C\d\d/g) ?? [],
    );
  });
  const golden = readdirSync(goldenFolder).map((file) => file.slice(0, 3));
  const proved = new Set([...named, ...golden, ...elsewhere]);
  const cases = Array.from({ length: caseCount }, (_, index) => `C${String(index + 1).padStart(2, "0")}`);
  expect(cases.filter((name) => !proved.has(name))).toEqual([]);
});
