export type Json = string | number | boolean | null | Json[] | JsonObject;

/** An object as `JSON.parse` makes it. Reading a name that is not there gives `undefined`, never a prototype's. */
export interface JsonObject {
  [name: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
