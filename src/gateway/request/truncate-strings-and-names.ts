import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { cutText } from "../../dialects/json/parse-body.ts";
import { isGovernedAnywhere } from "../../dialects/names/governed-names.ts";

/** Maximum characters of a string or a name, tried in turn until the result is small enough. */
const lengths = [1024, 256, 64];

/** Strings that are direct members of the body can be ids or names that are looked up, none of which is longer. */
const maxOwnChars = 4096;

/** Takes about ten milliseconds to parse. */
const maxChars = 2 * 1024 * 1024;

/** Each name that a parser has not met before takes it microseconds; a body could be made of nothing else. */
const maxNames = 2000;

/**
 * A body as JSON with every number and shape, but with its long strings truncated until it is quick to parse. After
 * very many different names only the governed ones are kept.
 */
export function truncateStringsAndNames({ metadata, ...body }: JsonObject): string {
  let text = "";
  for (const length of lengths) {
    // First, because its names are the client's, and are kept with a conversation.
    text = JSON.stringify(new Truncation(length).object({ metadata, ...body }, maxOwnChars));
    if (text.length <= maxChars) break;
  }
  return text;
}

/** One pass over a body, with one length for its strings and names. */
class Truncation {
  readonly #length: number;
  readonly #names = new Set<string>();

  constructor(length: number) {
    this.#length = length;
  }

  object(object: JsonObject, textLength: number): JsonObject {
    const cut: JsonObject = {};
    for (const name of Object.keys(object)) {
      const value = object[name];
      const shortName = name.length > this.#length ? name.slice(0, this.#length) : name;
      if (value === undefined || !this.#keeps(shortName)) continue;
      // Not by assignment, which treats `__proto__` specially.
      Object.defineProperty(cut, shortName, {
        value: this.#value(value, textLength),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return cut;
  }

  #keeps(name: string): boolean {
    if (this.#names.has(name)) return true;
    if (this.#names.size >= maxNames) return isGovernedAnywhere(name);
    this.#names.add(name);
    return true;
  }

  #value(value: Json, textLength: number): Json {
    if (typeof value === "string") return value.length > textLength ? cutText : value;
    if (Array.isArray(value)) return value.map((item) => this.#value(item, this.#length));
    return isObject(value) ? this.object(value, this.#length) : value;
  }
}
