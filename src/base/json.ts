export type Json = string | number | boolean | null | Json[] | JsonObject;

/** An object as `JSON.parse` makes it. Reading a name that is not there gives `undefined`, never a prototype's. */
export interface JsonObject {
  [name: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Far deeper than real data, and far less than what overflows the stack of recursive code. */
const deepest = 256;

/** `JSON.parse` accepts any depth, but stringifying such a value takes seconds and then fails. */
export function nestsTooDeeply(value: unknown, levels = deepest): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  const inner = value as Readonly<Record<string, unknown>>;
  for (const name in inner) if (nestsTooDeeply(inner[name], levels - 1)) return true;
  return false;
}
