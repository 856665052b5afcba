import { readSources, type SourceFile } from "./architecture/imports.ts";

/** The test files, by what they need. */
export interface Suites {
  /** All that do not disturb each other. */
  readonly sideBySide: readonly string[];
  /** Of these, what starts no program and no browser, and moves no megabytes: what one runs while working. */
  readonly fast: readonly string[];
  /** Measure memory or silences, or starve the machine on purpose, so nothing else may run meanwhile. */
  readonly alone: readonly string[];
}

const needTheMachine: ReadonlySet<string> = new Set([
  "test/chaos/streams.test.ts",
  "test/clients/crowd.test.ts",
  "test/faults/slow-disk.test.ts",
]);

const startsPrograms = /\bBun\.spawn(?:Sync)?\(|"node:child_process"|"playwright-core"/;

/** By name, what takes its time because of its size. */
const large = /large|huge|deep|memory|scale|fuzz|stress|carrying|embeddings/;

/** Sorted by what the files themselves import and do, so that a new one needs no entry anywhere. */
export function sortSuites(): Suites {
  const files = new Map(readSources("test").map((file) => [file.path, file]));
  const all = [...files.keys()].filter((path) => path.endsWith(".test.ts"));
  return {
    sideBySide: all.filter((path) => !needTheMachine.has(path)),
    fast: all.filter(
      (path) => !large.test(path) && !reaches(path, files, ({ text }) => startsPrograms.test(text)),
    ),
    alone: all.filter((path) => needTheMachine.has(path)),
  };
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
