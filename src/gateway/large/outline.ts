import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { cutText } from "../../dialects/json/truncated-json.ts";

/** What a string and a name may have, from the kindest to the strictest. */
const lengths = [1024, 256, 64];

/** The body's own strings are ids and names that are looked up, and texts; the longest of the former. */
const longestOwn = 4096;

/** Takes ten milliseconds or so to parse. */
const largestChars = 2 * 1024 * 1024;

/**
 * JSON of a body with every name, number and shape of the whole, but with its long texts cut short: as short as it
 * takes to have something that is parsed in a moment.
 */
export function outlineText(body: JsonObject): string {
  let text = "";
  for (const length of lengths) {
    text = JSON.stringify(cutObject(body, length, longestOwn));
    if (text.length <= largestChars) break;
  }
  return text;
}

function cutObject(object: JsonObject, length: number, ownLength: number): JsonObject {
  const cut: JsonObject = {};
  for (const name of Object.keys(object)) {
    const value = object[name];
    if (value === undefined) continue;
    const shortName = name.length > length ? name.slice(0, length) : name;
    // Not by assignment, for which `__proto__` is no plain name.
    Object.defineProperty(cut, shortName, {
      value: cutValue(value, length, ownLength),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return cut;
}

function cutValue(value: Json, length: number, ownLength: number): Json {
  if (typeof value === "string") return value.length > ownLength ? cutText : value;
  if (Array.isArray(value)) return value.map((item) => cutValue(item, length, length));
  return isObject(value) ? cutObject(value, length, length) : value;
}
