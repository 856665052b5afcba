/** How many tests passed, failed and were skipped. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What a run of `bun test` has reported. */
export interface Report {
  readonly counts: Counts;
  /** The run came to its end, with all files. */
  readonly isComplete: boolean;
  /** The files that have a test that failed. Empty if one failed that no file can be named for. */
  readonly failedFiles: readonly string[];
}

/** A run as it ended: what it printed, its exit code, and how many files it was given. */
export interface EndedRun {
  readonly output: string;
  readonly code: number;
  readonly files: number;
}

export const nothing: Counts = { passed: 0, failed: 0, skipped: 0 };

/**
 * A run that ends without its count has failed, whatever its exit code: a test that ends the process, with 0 even, takes all later
 * ones with it. So has one that did not run every file, and one whose exit code or failed tests contradict its count.
 */
export function readReport({ output, code, files }: EndedRun): Report {
  const counts = countsIn(output, files);
  const named = namedIn(output);
  const isComplete =
    counts !== null && counts.failed >= named.failed && (code === 0) === (counts.failed === 0);
  const failedFiles = named.failed === counts?.failed ? filesWithFailures(output) : [];
  if (isComplete) return { counts, isComplete, failedFiles };
  return { counts: { ...named, failed: Math.max(1, named.failed) }, isComplete, failedFiles: [] };
}

/** The counts of a run after the files that failed ran once more, one by one: only what failed twice has failed. */
export function afterRepeat(first: Counts, repeated: Report): Counts {
  if (!repeated.isComplete) return first;
  const { failed } = repeated.counts;
  return { ...first, passed: first.passed + first.failed - failed, failed };
}

export function sum(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  };
}

/** The counts at the end of a report; null if it has none, or not for so many files. A test may print a report too: the last counts. */
function countsIn(output: string, files: number): Counts | null {
  const ends = output.matchAll(/^((?: *\d+ .+\n)+)Ran \d+ tests? across (\d+) files?\. /gm);
  const [, lines = "", ranFiles] = [...ends].at(-1) ?? [];
  if (Number(ranFiles) !== files) return null;
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, "m").exec(lines)?.[1] ?? 0);
  return { passed: count("pass"), failed: count("fail"), skipped: count("skip") };
}

const kinds = { "(pass)": "passed", "(fail)": "failed", "(skip)": "skipped" } as const;

/** A report names the file before its tests, and repeats the tests that failed at its end without their files. */
function filesWithFailures(output: string): readonly string[] {
  const files = new Set<string>();
  let file: string | undefined;
  for (const line of output.split("\n")) {
    if (/^\s*\d+ tests? failed:$/.test(line)) break;
    file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
    if (line.startsWith("(fail)") && file !== undefined) files.add(file);
  }
  return [...files];
}

/** As far as tests are named; a report repeats the failed ones at its end. A worker that died, or a file that cannot be loaded, is not. */
function namedIn(output: string): Counts {
  let counts = nothing;
  for (const line of output.split("\n")) {
    if (/^\s*\d+ tests? failed:$/.test(line)) break;
    const kind = /^\((?:pass|fail|skip)\)/.exec(line)?.[0] as keyof typeof kinds | undefined;
    if (kind !== undefined) counts = { ...counts, [kinds[kind]]: counts[kinds[kind]] + 1 };
  }
  return counts;
}
