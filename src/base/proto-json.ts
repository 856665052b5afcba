import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * What Google's clients write: each field has two spellings (`generationConfig`, `generation_config`), and a single value may stand
 * for a list. Here, and not with the dialect, for the threads that load no dialect.
 */

export function camelCase(name: string): string {
  if (!name.includes("_")) return name;
  return name.replace(/(?<!^)_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** These fields, in both spellings. */
export function spellings(fields: readonly string[]): readonly string[] {
  return [...new Set(fields.flatMap((field) => [field, snakeCase(field)]))];
}

/** The spelling of a field in an object that has been checked, so that it has only one. */
export function spellingOf(object: JsonObject, field: string): string {
  const other = snakeCase(field);
  return object[other] === undefined ? field : other;
}

/** A field's value, in either spelling. */
export function fieldOf(object: JsonObject, field: string): Json | undefined {
  return object[spellingOf(object, field)];
}

/** A list for which a single value may stand. */
export function repeated(value: Json | undefined): readonly Json[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

/** Changes the parts of a request's contents. Returns the same value if no part changes. */
export function changeParts(
  contents: Json | undefined,
  change: (part: JsonObject) => JsonObject,
): Json | undefined {
  let isChanged = false;
  const changed = repeated(contents).map((content): Json => {
    if (!isObject(content)) return content;
    const parts = repeated(content["parts"]).map((part) => {
      const result = isObject(part) ? change(part) : part;
      isChanged ||= result !== part;
      return result;
    });
    return { ...content, parts };
  });
  return isChanged ? changed : contents;
}
