import { readSources, type SourceFile } from "./architecture/imports.ts";

/** The test files, by what they need. */
export interface Suites {
  /** Start no program and no browser; what one runs while working. */
  readonly fast: readonly string[];
  /** Start programs, and do not disturb each other. */
  readonly sideBySide: readonly string[];
  /** Measure memory or silences, or starve the machine on purpose, so nothing else may run meanwhile. */
  readonly alone: readonly string[];
  /** Of those that drive the gateway from outside, the ones that drive the source, too. */
  readonly fromSource: readonly string[];
}

const needTheMachine: ReadonlySet<string> = new Set([
  "test/chaos/streams.test.ts",
  "test/clients/crowd.test.ts",
  "test/executable/kill9.test.ts",
  "test/faults/host.test.ts",
  "test/faults/pause.test.ts",
  "test/faults/slow-disk.test.ts",
  "test/scenarios/figures.test.ts",
  "test/wire/many-streams.test.ts",
]);

/** Those that take longest begin first, so that nothing waits for them at the end. */
const longest: readonly string[] = [
  "test/dashboard/axe.test.ts",
  "test/dashboard/screenshots.test.ts",
  "test/security/fuzz/fuzz.test.ts",
  "test/release/npm.test.ts",
  "test/store/sqlite/restore-kill.test.ts",
  "test/faults/upstream.test.ts",
  "test/cli/ports.test.ts",
  "test/cli/serve.test.ts",
  "test/faults/unwritable.test.ts",
  "test/clients/switching.test.ts",
  "test/clients/claude-code.test.ts",
  "test/clients/pairs.test.ts",
  "test/simulation/shared.test.ts",
  "test/chaos/duplicates.test.ts",
  "test/cluster/killed.test.ts",
  "test/scenarios/endings.test.ts",
  "test/simulation/simulation.test.ts",
  "test/gateway/max-exchange.test.ts",
  "test/upstream/sole-deployment.test.ts",
  "test/store/sqlite/open-files.test.ts",
];

/** Starting from source is one way to start the same program, so a few suites are enough for it. */
const fromSource: readonly string[] = ["test/cli/first-start.test.ts", "test/cli/reload.test.ts"];

const startsPrograms = /\bBun\.spawn(?:Sync)?\(|"node:child_process"|"playwright-core"/;

/** Sorted by what the files themselves import and do, so that a new one needs no entry anywhere. */
export function sortSuites(): Suites {
  const files = new Map(readSources("test").map((file) => [file.path, file]));
  const all = longestFirst([...files.keys()].filter((path) => path.endsWith(".test.ts")));
  const withPrograms = all.filter((path) => reaches(path, files, (file) => startsPrograms.test(file.text)));
  const starting = new Set(withPrograms);
  return {
    fast: all.filter((path) => !starting.has(path)),
    sideBySide: withPrograms.filter((path) => !needTheMachine.has(path)),
    alone: withPrograms.filter((path) => needTheMachine.has(path)),
    fromSource: all.filter((path) => fromSource.includes(path)),
  };
}

function longestFirst(paths: readonly string[]): string[] {
  const rest = paths.filter((path) => !longest.includes(path));
  return [...longest.filter((path) => paths.includes(path)), ...rest];
}

/** Whether a file, or one of the tests' own files that it imports, is as asked for. */
function reaches(
  path: string,
  files: ReadonlyMap<string, SourceFile>,
  isIt: (file: SourceFile) => boolean,
  seen = new Set<string>(),
): boolean {
  const file = files.get(path);
  if (file === undefined || seen.has(path)) return false;
  seen.add(path);
  return isIt(file) || file.imports.some(({ to }) => reaches(to, files, isIt, seen));
}
