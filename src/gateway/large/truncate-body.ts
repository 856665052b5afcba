import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { cutText } from "../../dialects/json/truncated-json.ts";

/** The most characters of a string or a name, tried in turn until the result is small enough. */
const lengths = [1024, 256, 64];

/** Strings that are direct members of the body may be ids or names that are looked up; none of those is longer. */
const longestOwn = 4096;

/** Takes about ten milliseconds to parse. */
const largestChars = 2 * 1024 * 1024;

/**
 * A body as JSON with every name, number and shape, but with its long strings truncated until it is quick to parse.
 */
export function truncateBody(body: JsonObject): string {
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
