import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterRepeat, type Report, readReport } from "./report.ts";
import { newFolder } from "./support/new-folder.ts";

/** Held against the reports of Bun itself, because its next version may word them differently. */

const sources = {
  sound: `test("one", () => {}); test("two", () => {}); test.skipIf(true)("three", () => {});`,
  failing: `test("fine", () => {}); test("not", () => { throw new Error("no"); });`,
  hookless: `describe("all", () => { beforeAll(() => { throw new Error("no"); }); test("one", () => {}); });`,
  unloadable: `await import("./not-there.ts"); test("one", () => {});`,
  leaving: `test("one", () => { process.exit(0); }); test("two", () => {});`,
  crashing: `test("one", () => { process.exit(1); }); test("two", () => {});`,
  reporting: `test("one", () => { console.error("\\n 1 pass\\n 0 fail\\nRan 1 test across 2 files. [1.00ms]"); process.exit(0); });`,
};
type Source = keyof typeof sources;

let folder: string;
beforeAll(() => {
  folder = newFolder();
  mkdirSync(join(folder, "test"));
  for (const [name, source] of Object.entries(sources)) {
    const imports = `import { beforeAll, describe, test } from "bun:test";\n`;
    writeFileSync(join(folder, pathOf(name)), imports + source);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the report of a run", () => {
  test.each([
    // Side by side, a worker that ends is seen by the one that started it.
    [2, ["sound"], { passed: 2, failed: 0, skipped: 1 }],
    [2, ["sound", "failing"], { passed: 3, failed: 1, skipped: 1 }],
    [2, ["hookless", "failing"], { passed: 1, failed: 2, skipped: 0 }],
    [2, ["sound", "failing", "unloadable"], { passed: 3, failed: 2, skipped: 1 }],
    [2, ["sound", "failing", "leaving"], { passed: 3, failed: 2, skipped: 1 }],
    [2, ["sound", "failing", "crashing"], { passed: 3, failed: 2, skipped: 1 }],
    // One by one, the run itself ends, and says nothing.
    [1, ["sound", "failing"], { passed: 3, failed: 1, skipped: 1 }],
    [1, ["sound", "leaving"], { passed: 2, failed: 1, skipped: 1 }],
    [1, ["failing", "leaving"], { passed: 1, failed: 1, skipped: 0 }],
    [1, ["failing", "crashing"], { passed: 1, failed: 1, skipped: 0 }],
    [1, ["failing", "reporting"], { passed: 1, failed: 1, skipped: 0 }],
  ] as const)("with %i at a time, of %j, is %j", async (workers, names, counts) => {
    expect((await reportOf(workers, names)).counts).toEqual(counts);
  });
});

test("names the files whose tests failed, unless one of them cannot be named", async () => {
  expect((await reportOf(2, ["sound", "failing"])).failedFiles).toEqual([pathOf("failing")]);
  expect((await reportOf(2, ["sound", "failing", "unloadable"])).failedFiles).toEqual([]);
});

test("what fails once more stays failed, and what passes then counts as passed", () => {
  const first = { passed: 10, failed: 3, skipped: 1 };
  const repeated = { counts: { passed: 4, failed: 1, skipped: 0 }, isComplete: true, failedFiles: [] };
  expect(afterRepeat(first, repeated)).toEqual({ passed: 12, failed: 1, skipped: 1 });
  expect(afterRepeat(first, { ...repeated, isComplete: false })).toEqual(first);
});

function pathOf(name: string): string {
  return `test/${name}.test.ts`;
}

async function reportOf(workers: number, names: readonly Source[]): Promise<Report> {
  const files = names.map((name) => `./${pathOf(name)}`);
  const child = Bun.spawn([process.execPath, "test", `--parallel=${workers}`, ...files], {
    cwd: folder,
    env: { ...process.env, FORCE_COLOR: "0" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = [await new Response(child.stdout).text(), await new Response(child.stderr).text()].join("");
  return readReport({ output, code: await child.exited, files: files.length });
}
