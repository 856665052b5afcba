/**
 * `bun test/bench/files-run.ts [--list]` prints how many source files one call runs: those with a line that forty calls ran
 * at least forty times more often than an idle gateway did.
 */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { newFolder } from "../support/new-folder.ts";

const calls = ["chat", "translated", "embeddings"] as const;
const count = 40;

/** Executions of every line, by source file. */
type Coverage = ReadonlyMap<string, ReadonlyMap<number, number>>;

function coverage(call: string, times: number): Coverage {
  const folder = newFolder();
  try {
    const run = Bun.spawnSync({
      cmd: [
        ...[process.execPath, "test", "--timeout", "60000", "--coverage", "--coverage-reporter=lcov"],
        ...[`--coverage-dir=${folder}`, "./test/bench/files-run-calls.ts"],
      ],
      cwd: join(import.meta.dir, "../.."),
      env: { ...process.env, FILES_RUN_CALL: call, FILES_RUN_COUNT: String(times) },
      stderr: "pipe",
    });
    if (run.exitCode !== 0) throw new Error(run.stderr.toString());
    return readLcov(readFileSync(join(folder, "lcov.info"), "utf8"));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function readLcov(text: string): Coverage {
  const files = new Map<string, Map<number, number>>();
  let lines = new Map<number, number>();
  for (const entry of text.split("\n")) {
    if (entry.startsWith("SF:")) {
      lines = new Map();
      files.set(entry.slice(3), lines);
    } else if (entry.startsWith("DA:")) {
      const [line, hits] = entry.slice(3).split(",");
      lines.set(Number(line), Number(hits));
    }
  }
  return files;
}

function filesRun(call: string): string[] {
  const [idle, busy] = [coverage(call, 0), coverage(call, count)];
  return [...busy.keys()]
    .filter((file) => file.startsWith("src/"))
    .filter((file) => {
      const before = idle.get(file);
      return [...(busy.get(file) ?? [])].some(([line, hits]) => hits - (before?.get(line) ?? 0) >= count);
    })
    .sort();
}

for (const call of calls) {
  const files = filesRun(call);
  console.log(`${call}: ${files.length} files`);
  if (process.argv.includes("--list")) console.log(files.map((file) => `  ${file}`).join("\n"));
}
