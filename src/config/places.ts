import { tableOf } from "../base/collections/table.ts";
import { isObject, type JsonObject } from "../base/json.ts";

/**
 * Line numbers of names in the file, which the parser does not report. Found by a second, shallow read: names and brackets
 * only; values are skipped.
 */
export class Places {
  readonly #text: string;
  /** Read when something is described for the first time: nothing is in most files. */
  #lines: ReadonlyMap<string, number> | null = null;
  readonly #ids: readonly (string | null)[];
  /** The index of the first model with each id: a file can have thousands. */
  readonly #indexes = new Map<string, number>();

  constructor(text: string, document: JsonObject) {
    this.#text = text;
    const models = Array.isArray(document["models"]) ? document["models"] : [];
    this.#ids = models.map((model) =>
      isObject(model) && typeof model["id"] === "string" ? model["id"] : null,
    );
    for (const [index, id] of this.#ids.entries())
      if (id !== null && !this.#indexes.has(id)) this.#indexes.set(id, index);
  }

  /**
   * The line of a path such as `models[2].price.input`, or of the longest part of it that the file contains; null if it
   * contains none.
   */
  lineOf(path: string): number | null {
    this.#lines ??= linesOf(this.#text);
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
    return `models[${this.#indexes.get(id) ?? -1}]`;
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

/** Comments, texts, line ends, what separates names and values, and everything else. */
const pieces =
  /#[^\n]*|"""(?:[^\\]|\\.)*?"""|'''.*?'''|"(?:[^"\\]|\\.)*"|'[^']*'|[[\]{}=.,\n]|[^\s#"'[\]{}=.,]+/gs;
const depths = tableOf({ "[": 1, "{": 1, "]": -1, "}": -1 });

/** The first line of every table and key, by its path. */
function linesOf(text: string): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  /** Number of elements of each `[[array]]` so far. */
  const counts = new Map<string, number>();
  let line = 1;
  let table = "";
  let names: string[] = [];
  /** Open brackets of the current value or table header. */
  let open = 0;
  let isValue = false;
  const note = (path: string) => {
    if (!found.has(path)) found.set(path, line);
  };
  for (const [piece] of `${text}\n`.matchAll(pieces)) {
    if (piece === "=" && !isValue) {
      for (let depth = 1; depth <= names.length; depth += 1) note(joined(table, names.slice(0, depth)));
      isValue = true;
    } else if (piece === "\n" && (open === 0 || !isValue)) {
      // A header's brackets have been counted up only.
      if (!isValue && open > 0) {
        const paths = tablePaths(names, open > 1, counts);
        paths.forEach(note);
        table = paths.at(-1) ?? "";
      }
      names = [];
      open = 0;
      isValue = false;
    } else if (isValue) open += depths[piece] ?? 0;
    else if (piece === "[") open += 1;
    else if (!/^[\].#]/.test(piece)) names.push(piece.replace(/^["']|["']$/g, ""));
    if (piece.includes("\n")) line += piece.split("\n").length - 1;
  }
  return found;
}

/** The paths of the enclosing tables, then the table's own. `[models.price]` belongs to the last of the `[[models]]`. */
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
