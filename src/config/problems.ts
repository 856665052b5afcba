import { isObject } from "../base/json.ts";
import { plural } from "../base/text/plural.ts";
import type { Places } from "./places.ts";
import { readSecret, type SecretSources } from "./secrets.ts";

/** One problem of the configuration. The path is e.g. `models[2].price.input` or `SLUICE_PORT`. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
  /** Null if the file does not have it. */
  readonly line?: number | null;
  /** The path for display, with the model's id and the line. */
  readonly where?: string;
  /** Present if only a secret is missing, which another machine may have. */
  readonly isMissingSecret?: true;
}

/** Collects all problems, so that an operator need not fix a file one error at a time. */
export class ProblemList {
  readonly #problems: ConfigProblem[] = [];
  readonly #places: Places | null;

  constructor(places: Places | null = null) {
    this.#places = places;
  }

  /** Keeps only the first problem at a path; later ones are consequences of it. */
  add(path: string, message: string): void {
    this.#add({ path, message });
  }

  addMissingSecret(path: string, reason: string): void {
    this.#add({ path, message: reason, isMissingSecret: true });
  }

  #add(problem: ConfigProblem): void {
    const { path } = problem;
    if (this.#problems.some((known) => known.path === path)) return;
    const places = this.#places;
    const place = places === null ? {} : { line: places.lineOf(path), where: places.describe(path) };
    this.#problems.push({ ...place, ...problem });
  }

  /** Whether there is no problem at the path or below it, so that a further check can rely on its type. */
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

/** The fields of a section that have no problem, so that one mistake in a section does not hide the others. */
export function validFields<Section extends object>(
  section: Section | undefined,
  path: string,
  problems: ProblemList,
): Partial<Section> {
  if (!isObject(section)) return {};
  const valid = Object.entries(section).filter(([name]) => problems.isValidAt(`${path}.${name}`));
  // The cast holds because fields were only removed.
  return Object.fromEntries(valid) as Partial<Section>;
}

/** The configuration cannot be used. Its message names every problem, one per line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly problems: readonly ConfigProblem[];
  /** For display: a path, or `the built-in configuration`. */
  readonly origin: string;

  constructor(file: string, problems: readonly ConfigProblem[]) {
    const origin = blamed(file, problems);
    const lines = problems.map(({ path, where = path, message }) =>
      where === "" ? `  ${message}` : `  ${where}: ${message}`,
    );
    super(`${plural(problems.length, "problem")} in ${origin}\n${lines.join("\n")}`);
    this.origin = origin;
    this.problems = problems;
  }
}

/** Attributes a problem to the file, or to an option or variable alone. */
function blamed(file: string, problems: readonly ConfigProblem[]): string {
  const areAll = (pattern: RegExp) => problems.length > 0 && problems.every(({ path }) => pattern.test(path));
  if (areAll(/^--/)) return "the command line";
  return areAll(/^SLUICE_/) ? "the environment" : file;
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

/** Shared by all parts of the loader while they read one configuration. */
export interface LoadContext extends SecretSources {
  readonly problems: ProblemList;
  readonly places: Places;
  readonly warnings: string[];
}

/**
 * The secret at a path; null if there is none. An unset secret is a problem too, unless `without` explains the
 * consequence.
 */
export function secretAt(
  path: string,
  reference: string,
  context: LoadContext,
  without?: string,
): string | null {
  const secret = readSecret(reference, context);
  if (secret.kind === "value") return secret.value;
  if (secret.kind === "problem") context.problems.add(path, secret.message);
  else if (without === undefined) context.problems.addMissingSecret(path, secret.reason);
  else context.warnings.push(`${without}: ${secret.reason}`);
  return null;
}
