/**
 * Runs all tests: the build, then everything else in parallel, except what needs the machine to itself. Tests that drive the
 * gateway from outside use the compiled executable.
 * A file that fails in parallel runs once more by itself: on a busy machine a program may be too slow for its test. What passes
 * then is listed at the end as unstable, and should be fixed.
 * `--fast` builds nothing and starts no programs; `--soak` does the long runs instead. The last line counts everything. The
 * exit code is 0 only if nothing failed.
 */
import { afterRepeat, type Counts, nothing, type Report, readReport, sum } from "./report.ts";
import { makeScratchFolder, removeScratchFolder } from "./scratch.ts";
import { sortSuites } from "./suites.ts";

let totals = nothing;
const scratch = makeScratchFolder();

/** The costliest of the runtime's compilers pays off after thousands of calls of one function: a quarter of a run's CPU time. */
const shortLived = { BUN_JSC_useFTLJIT: "0" };

/** A worker that runs many files compiles less of them, keeps what memory they free for the next, and collects it only when it grows. */
const manyFiles = {
  BUN_GC_TIMER_DISABLE: "1",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "20000",
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: "20000",
  BUN_JSC_thresholdForOptimizeSoon: "20000",
  BUN_JSC_numberOfGCMarkers: "1",
  MIMALLOC_PURGE_DELAY: "10000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "20000",
};

/** Half of the time goes into waiting: for a program to start, a pause to pass, a poll to come. */
const workers = 5;

/** More than these are no accident. */
const maxRepeatedFiles = 5;
const unstable: string[] = [];

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
    env: { ...process.env, ...shortLived, FORCE_COLOR: "0", TMPDIR: scratch, ...env },
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

/** A check that passes or fails, counted as one test. It runs in parallel with others, so it prints at its end. */
async function check(name: string, script: string): Promise<void> {
  const child = Bun.spawn([process.execPath, "run", script], {
    stdout: "pipe",
    stderr: "pipe",
    // The compiler ends before it would be worth while to collect its garbage.
    env: { ...process.env, FORCE_COLOR: "0", GOGC: "off" },
  });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const isPassed = (await child.exited) === 0;
  heading(`${name}: ${isPassed ? "passed" : "failed"}`);
  if (!isPassed) console.log(stdout + stderr);
  add({ ...nothing, [isPassed ? "passed" : "failed"]: 1 });
}

async function suite(
  name: string,
  files: readonly string[],
  workers: number,
  env: Record<string, string>,
): Promise<void> {
  if (files.length === 0) return;
  heading(`${name}, ${files.length} files`);
  const report = await runFiles(files, workers, env);
  if (!report.isComplete) console.log("\nThis run broke off: it counts as failed.");
  add(workers > 1 ? await repeatFailed(report, env) : report.counts);
}

async function repeatFailed({ counts, failedFiles }: Report, env: Record<string, string>): Promise<Counts> {
  if (failedFiles.length === 0 || failedFiles.length > maxRepeatedFiles) return counts;
  heading(`once more, one by one: ${failedFiles.length} files`);
  const repeated = afterRepeat(counts, await runFiles(failedFiles, 1, env));
  if (repeated.failed < counts.failed) unstable.push(...failedFiles);
  return repeated;
}

async function runFiles(
  files: readonly string[],
  workers: number,
  env: Record<string, string>,
): Promise<Report> {
  const command = [
    process.execPath,
    "test",
    // Whether this ends well or is killed, its workers and what they have started end with it.
    "--no-orphans",
    "--timeout",
    "120000",
    `--parallel=${workers}`,
    // A worker loads and compiles programs and SDKs once for all of its files: half of the CPU time. One by one, each is by itself.
    ...(workers > 1 ? ["--no-isolate"] : []),
    ...files.map((file) => `./${file}`),
  ];
  const ended = await run(command, workers > 1 ? { ...manyFiles, ...env } : env);
  return readReport({ ...ended, files: files.length });
}

function add(counts: Counts): void {
  totals = sum(totals, counts);
}

/** One after the other, because the tests run at the same time. */
async function checks(): Promise<void> {
  await check("types", "types");
  await check("lint and format", "lint");
}

const suites = sortSuites();
if (!process.argv.includes("--fast")) {
  // Not awaited: it has most of the run's time, and tests whose client is missing then say so themselves.
  Bun.spawn([process.execPath, "test/clients/prepare.ts"], { stdout: "ignore", stderr: "ignore" }).unref();
}
const executable = { SLUICE_TEST_TARGET: "executable" };
if (process.argv.includes("--soak")) {
  await checks();
  await check("build", "build");
  const all = [...suites.sideBySide, ...suites.alone];
  await suite("long runs", all, 1, { ...executable, SLUICE_SOAK: "1" });
} else if (process.argv.includes("--fast")) {
  const env = { SLUICE_TEST_TARGET: "source", SLUICE_TEST_FAST: "1" };
  await Promise.all([checks(), suite("without programs", suites.fast, workers, env)]);
} else {
  await check("build", "build");
  await Promise.all([checks(), suite("side by side", suites.sideBySide, workers, executable)]);
  await suite("what needs the machine to itself", suites.alone, 1, executable);
}

removeScratchFolder(scratch);
for (const file of unstable) console.log(`unstable: ${file} failed beside others and passed by itself`);
console.log(`\n${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 ? 0 : 1);
