/**
 * All tests, in one command: types, lint and format; the whole suite against the source; then every suite
 * that drives the program from outside once more against the compiled executable. With `--soak` the long
 * runs instead. The last line counts everything; the exit code is 0 only when nothing failed.
 */
import { Glob } from "bun";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const totals: Counts = { passed: 0, failed: 0, skipped: 0 };

function heading(text: string): void {
  console.log(`\n── ${text} ${"─".repeat(Math.max(0, 96 - text.length))}`);
}

async function run(
  command: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string }> {
  const child = Bun.spawn([...command], {
    stdout: "pipe",
    stderr: "pipe",
    env: { ...process.env, FORCE_COLOR: "0", ...env },
  });
  const [stdout, stderr] = await Promise.all([relay(child.stdout), relay(child.stderr)]);
  return { code: await child.exited, output: stdout + stderr };
}

/** Shows what a command prints while it prints it, and keeps it for the count. */
async function relay(stream: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    process.stdout.write(chunk);
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** A check that either holds or does not, counted as one test. */
async function check(name: string, command: readonly string[]): Promise<void> {
  heading(name);
  const { code } = await run(command);
  if (code === 0) totals.passed += 1;
  else totals.failed += 1;
}

async function suite(name: string, files: readonly string[], env: Record<string, string>): Promise<void> {
  heading(`${name}, ${files.length} files`);
  const { code, output } = await run([process.execPath, "test", "--timeout", "60000", ...files], env);
  const counts: Counts = {
    passed: last(output, "pass"),
    failed: last(output, "fail"),
    skipped: last(output, "skip"),
  };
  totals.passed += counts.passed;
  totals.skipped += counts.skipped;
  // A suite that dies without a count has failed too.
  totals.failed += code !== 0 && counts.failed === 0 ? 1 : counts.failed;
}

function last(output: string, word: string): number {
  const found = [...output.matchAll(new RegExp(`^\\s*(\\d+) ${word}$`, "gm"))].at(-1);
  return Number(found?.[1] ?? 0);
}

async function testFiles(): Promise<string[]> {
  const files: string[] = [];
  for await (const file of new Glob("test/**/*.test.ts").scan(".")) files.push(`./${file}`);
  return files.sort();
}

/** Suites that start the program as a process say so by importing what does it. */
async function drivesTheProgram(file: string): Promise<boolean> {
  return /from "(?:(?:\.\.\/)+support\/sluice|\.\/world)\.ts"/.test(await Bun.file(file).text());
}

const isSoak = process.argv.includes("--soak");
const files = await testFiles();
const outside: string[] = [];
for (const file of files) if (await drivesTheProgram(file)) outside.push(file);

await check("types", [process.execPath, "run", "types"]);
await check("lint and format", [process.execPath, "run", "lint"]);
await check("build", [process.execPath, "run", "build"]);
if (isSoak) {
  await suite("long runs", files, { SLUICE_SOAK: "1", SLUICE_TEST_TARGET: "executable" });
} else {
  await suite("against the source", files, { SLUICE_TEST_TARGET: "source" });
  await suite("against the executable", outside, { SLUICE_TEST_TARGET: "executable" });
}

console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);
