/** One thing that is wrong with the configuration, and where: `models[2].price.input`, or `SLUICE_PORT`. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

/** Collects every problem before any is told, because fixing a file one error at a time is a misery. */
export class ProblemList {
  readonly #problems: ConfigProblem[] = [];

  add(path: string, message: string): void {
    this.#problems.push({ path, message });
  }

  /** True when nothing is wrong at the path or below it, so that a further check may trust its shape. */
  soundAt(path: string): boolean {
    return !this.#problems.some(
      (problem) =>
        problem.path === path || problem.path.startsWith(`${path}.`) || problem.path.startsWith(`${path}[`),
    );
  }

  get all(): readonly ConfigProblem[] {
    return this.#problems;
  }
}

/** The configuration cannot be used. Its message names every problem, one per line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly ConfigProblem[];
  /** What was read, as a person would name it: a path, or `the built-in configuration`. */
  readonly origin: string;

  constructor(origin: string, problems: readonly ConfigProblem[]) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    const lines = problems.map(({ path, message }) =>
      path === "" ? `  ${message}` : `  ${path}: ${message}`,
    );
    super(`${count} in ${origin}\n${lines.join("\n")}`);
    this.origin = origin;
    this.problems = problems;
  }
}

const bareName = /^[A-Za-z0-9_-]+$/;

/** `/models/2/price/input` as an operator reads it: `models[2].price.input`. */
export function pathFromPointer(pointer: string): string {
  let path = "";
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(name)) path += `[${name}]`;
    else path += (path === "" ? "" : ".") + (bareName.test(name) ? name : JSON.stringify(name));
  }
  return path;
}
