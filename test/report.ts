/** How many tests passed, failed and were skipped. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What a run of `bun test` has reported. */
export interface Report {
  readonly counts: Counts;
  /** By file, as far as the tests are named. A worker that died, or a file that could not be loaded, is counted above alone. */
  readonly byFile: ReadonlyMap<string, Counts>;
  /** The run came to its end, with all files. */
  readonly isComplete: boolean;
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
  const byFile = byFileIn(output);
  const named = [...byFile.values()].reduce(sum, nothing);
  const isComplete =
    counts !== null && counts.failed >= named.failed && (code === 0) === (counts.failed === 0);
  if (isComplete) return { counts, byFile, isComplete };
  return { counts: { ...named, failed: Math.max(1, named.failed) }, byFile, isComplete };
}

/**
 * The files whose tests failed; null if that does not explain every failure. A worker that died cannot be run again, and a run
 * that broke off may have failed anywhere.
 */
export function failedFiles({ counts, byFile, isComplete }: Report): readonly string[] | null {
  const failed = [...byFile].filter(([, { failed }]) => failed > 0);
  const explained = failed.reduce((total, [, { failed }]) => total + failed, 0);
  return isComplete && explained === counts.failed ? failed.map(([file]) => file) : null;
}

/**
 * The counts of both runs, where the second has run the failed files of the first once more. It replaces what the first said of
 * them, unless it was cut short or has run fewer tests of theirs: then what failed has failed.
 */
export function withSecondRun(
  first: Report,
  second: Report,
): { counts: Counts; passedThen: readonly string[] } {
  const files = failedFiles(first) ?? [];
  const before = files.map((file) => first.byFile.get(file) ?? nothing).reduce(sum, nothing);
  if (!second.isComplete || testsOf(second.counts) < testsOf(before))
    return { counts: first.counts, passedThen: [] };
  return {
    counts: sum(difference(first.counts, before), second.counts),
    passedThen: files.filter((file) => second.byFile.get(file)?.failed === 0),
  };
}

export function sum(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed + other.passed,
    failed: one.failed + other.failed,
    skipped: one.skipped + other.skipped,
  };
}

function difference(one: Counts, other: Counts): Counts {
  return {
    passed: one.passed - other.passed,
    failed: one.failed - other.failed,
    skipped: one.skipped - other.skipped,
  };
}

function testsOf({ passed, failed, skipped }: Counts): number {
  return passed + failed + skipped;
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

/** A report has a file's name above its tests, and repeats the failed ones at its end, without the names. */
function byFileIn(output: string): ReadonlyMap<string, Counts> {
  const counts = new Map<string, Counts>();
  let file = "";
  for (const line of output.split("\n")) {
    if (/^\s*\d+ tests? failed:$/.test(line)) break;
    file = /^(test\/\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
    const kind = /^\((?:pass|fail|skip)\)/.exec(line)?.[0] as keyof typeof kinds | undefined;
    if (kind === undefined) continue;
    const soFar = counts.get(file) ?? nothing;
    counts.set(file, { ...soFar, [kinds[kind]]: soFar[kinds[kind]] + 1 });
  }
  return counts;
}
