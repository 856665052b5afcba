/**
 * All tests, in one command: types, lint and format; the suites that stay in this process's family of
 * workers; then every suite that starts programs, once against the source and once against the compiled
 * executable. `--fast` stops before the programs, `--soak` does the long runs instead. The last line counts
 * everything; the exit code is 0 only when nothing failed.
 */
import { sortSuites } from "./suites.ts";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

const totals: Counts = { passed: 0, failed: 0, skipped: 0 };

/** Suites that start programs wait for them, and three at once made some wait too long on two processors. */
const fastWorkers = 2;
const programWorkers = 2;

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

async function suite(
  name: string,
  files: readonly string[],
  workers: number,
  env: Record<string, string>,
): Promise<void> {
  if (files.length === 0) return;
  heading(`${name}, ${files.length} files`);
  const command = [
    process.execPath,
    "test",
    "--timeout",
    "120000",
    `--parallel=${workers}`,
    ...files.map((file) => `./${file}`),
  ];
  const { code, output } = await run(command, env);
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

async function programSuites(
  target: "source" | "executable",
  isWanted: (file: string) => boolean,
): Promise<void> {
  const env = { SLUICE_TEST_TARGET: target };
  await suite(`programs, ${target}`, suites.sideBySide.filter(isWanted), programWorkers, env);
  await suite(
    `programs that need the machine to themselves, ${target}`,
    suites.alone.filter(isWanted),
    1,
    env,
  );
}

const suites = sortSuites();
await check("types", [process.execPath, "run", "types"]);
await check("lint and format", [process.execPath, "run", "lint"]);
if (process.argv.includes("--soak")) {
  await check("build", [process.execPath, "run", "build"]);
  const all = [...suites.fast, ...suites.sideBySide, ...suites.alone];
  await suite("long runs", all, 1, { SLUICE_SOAK: "1", SLUICE_TEST_TARGET: "executable" });
} else {
  await suite("without programs", suites.fast, fastWorkers, { SLUICE_TEST_TARGET: "source" });
  if (!process.argv.includes("--fast")) {
    await check("build", [process.execPath, "run", "build"]);
    await programSuites("source", () => true);
    await programSuites("executable", (file) => suites.driven.has(file));
  }
}

console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);
