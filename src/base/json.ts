export type Json = string | number | boolean | null | Json[] | JsonObject;

/** An object as `JSON.parse` creates it. Reading a missing name returns `undefined`, never a prototype's member. */
export interface JsonObject {
  [name: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Undefined if the text is not JSON. */
export function tryParse(text: string): Json | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Far deeper than real data, and far less than what overflows the stack of recursive code. */
const deepest = 256;

/**
 * `JSON.parse` accepts any depth, but stringifying such a value takes seconds and then fails. `text` is what the value
 * was parsed from: every level takes two brackets, and counting the opening ones is cheaper than visiting the value.
 */
export function nestsTooDeeply(value: unknown, text: string): boolean {
  if (text.length <= 2 * deepest) return false;
  return hasMoreThan(deepest, "{", "[", text) && isDeeperThan(deepest, value);
}

function hasMoreThan(max: number, one: string, other: string, text: string): boolean {
  let count = 0;
  for (let at = text.indexOf(one); at !== -1 && count <= max; at = text.indexOf(one, at + 1)) count += 1;
  for (let at = text.indexOf(other); at !== -1 && count <= max; at = text.indexOf(other, at + 1)) count += 1;
  return count > max;
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeperThan(levels - 1, item));
  const inner = value as Readonly<Record<string, unknown>>;
  for (const name in inner) if (isDeeperThan(levels - 1, inner[name])) return true;
  return false;
}
