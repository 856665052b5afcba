/** One problem of the configuration. The path is e.g. `models[2].price.input` or `SLUICE_PORT`. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

/** Collects all problems, so that an operator need not fix a file one error at a time. */
export class ProblemList {
  readonly #problems: ConfigProblem[] = [];

  add(path: string, message: string): void {
    this.#problems.push({ path, message });
  }

  /** Whether there is no problem at the path or below it, so that a further check may rely on its type. */
  isValidAt(path: string): boolean {
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
  /** For display: a path, or `the built-in configuration`. */
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

/** Converts a JSON pointer, e.g. `/models/2/price/input` to `models[2].price.input`. */
export function pathFromPointer(pointer: string): string {
  let path = "";
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (/^\d+$/.test(name)) path += `[${name}]`;
    else path += (path === "" ? "" : ".") + (bareName.test(name) ? name : JSON.stringify(name));
  }
  return path;
}
