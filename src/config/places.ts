import { isObject, type JsonObject } from "../base/json.ts";

/**
 * Line numbers of names in the file, which the parser does not report. Found by a second, shallow read: names and brackets
 * only; values are skipped.
 */
export class Places {
  readonly #lines: ReadonlyMap<string, number>;
  readonly #ids: readonly (string | null)[];

  constructor(text: string, document: JsonObject) {
    this.#lines = linesOf(text);
    const models = Array.isArray(document["models"]) ? document["models"] : [];
    this.#ids = models.map((model) =>
      isObject(model) && typeof model["id"] === "string" ? model["id"] : null,
    );
  }

  /** The line of a path such as `models[2].price.input`, or of the part of it that the file has; null if it has none. */
  lineOf(path: string): number | null {
    for (let part = path; part !== ""; part = parentOf(part)) {
      const line = this.#lines.get(part);
      if (line !== undefined) return line;
    }
    return null;
  }

  /** For display: `model "gpt-5.6", price.input (line 12)`. */
  describe(path: string): string {
    const line = this.lineOf(path);
    return line === null ? this.#named(path) : `${this.#named(path)} (line ${line})`;
  }

  pathOfModel(id: string): string {
    return `models[${this.#ids.indexOf(id)}]`;
  }

  /** An id is easier to find than `models[37]`. */
  #named(path: string): string {
    const [, index, rest = ""] = /^models\[(\d+)\](?:\.(.*))?$/.exec(path) ?? [];
    const id = index === undefined ? null : (this.#ids[Number(index)] ?? null);
    if (id === null) return path;
    return rest === "" ? `model "${id}"` : `model "${id}", ${rest}`;
  }
}

function parentOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}

const bareKey = /[A-Za-z0-9_-]+/y;
const quotedKey = /"((?:[^"\\]|\\.)*)"|'([^']*)'/y;

/** The first line of every table and key, by its path. */
function linesOf(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  /** How many elements each `[[array]]` has so far. */
  const counts = new Map<string, number>();
  let table = "";
  let value = new ValueSkipper();
  for (const [index, line] of text.split("\n").entries()) {
    if (!value.isOver) {
      value.skip(line, 0);
      continue;
    }
    const statement = line.trimStart();
    const note = (path: string) => {
      if (!found.has(path)) found.set(path, index + 1);
    };
    if (statement.startsWith("[")) {
      const isElement = statement.startsWith("[[");
      const { names } = readNames(statement, isElement ? 2 : 1);
      const paths = tablePaths(names, isElement, counts);
      paths.forEach(note);
      table = paths.at(-1) ?? "";
      continue;
    }
    const { names, end } = readNames(statement, 0);
    if (names.length === 0) continue;
    for (let depth = 1; depth <= names.length; depth += 1) note(joined(table, names.slice(0, depth)));
    value = new ValueSkipper();
    value.skip(statement, end);
  }
  return found;
}

/** The table's path after those of the tables around it. `[models.price]` belongs to the last of the `[[models]]`. */
function tablePaths(names: readonly string[], isElement: boolean, counts: Map<string, number>): string[] {
  const paths: string[] = [];
  let path = "";
  for (const [depth, name] of names.entries()) {
    path = joined(path, [name]);
    paths.push(path);
    const count = counts.get(path);
    if (isElement && depth === names.length - 1) {
      counts.set(path, (count ?? 0) + 1);
      path += `[${count ?? 0}]`;
    } else if (count !== undefined) path += `[${count - 1}]`;
    paths.push(path);
  }
  return paths;
}

function joined(path: string, names: readonly string[]): string {
  const written = names.map((name) => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name)));
  return [...(path === "" ? [] : [path]), ...written].join(".");
}

/** A key, which may have dots: `price."long_context".input`. */
function readNames(text: string, start: number): { readonly names: string[]; readonly end: number } {
  const names: string[] = [];
  let at = start;
  for (;;) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
    const name = nameAt(text, at);
    if (name === null) break;
    names.push(name.text);
    at = name.end + (/^\s*/.exec(text.slice(name.end))?.[0].length ?? 0);
    if (text[at] !== ".") break;
    at += 1;
  }
  return { names, end: at };
}

function nameAt(text: string, at: number): { readonly text: string; readonly end: number } | null {
  for (const pattern of [bareKey, quotedKey]) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match !== null) return { text: match[1] ?? match[2] ?? match[0], end: pattern.lastIndex };
  }
  return null;
}

const quotes = ['"""', "'''", '"', "'"] as const;

/** Follows a value to its end, which may be lines below: brackets that are open, and texts of several lines. The file is TOML. */
class ValueSkipper {
  #open = 0;
  /** The quotation marks of the text that is being read; null outside of one. */
  #quote: (typeof quotes)[number] | null = null;

  get isOver(): boolean {
    return this.#open === 0 && this.#quote === null;
  }

  skip(line: string, start: number): void {
    let at = start;
    while (at < line.length) {
      if (this.#quote !== null) at = this.#skipText(line, at, this.#quote);
      else if (line[at] === "#") break;
      else at = this.#skipStructure(line, at);
    }
  }

  #skipText(line: string, at: number, quote: string): number {
    if (line[at] === "\\" && quote.startsWith('"')) return at + 2;
    if (!line.startsWith(quote, at)) return at + 1;
    this.#quote = null;
    return at + quote.length;
  }

  #skipStructure(line: string, at: number): number {
    const quote = quotes.find((each) => line.startsWith(each, at));
    if (quote !== undefined) {
      this.#quote = quote;
      return at + quote.length;
    }
    if (line[at] === "[" || line[at] === "{") this.#open += 1;
    if (line[at] === "]" || line[at] === "}") this.#open -= 1;
    return at + 1;
  }
}
