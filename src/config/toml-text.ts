import { isObject, type Json } from "../base/json.ts";

/** A value on one line. `Bun.TOML.stringify` would write a table with headers. */
export function tomlValue(value: Json): string {
  if (typeof value === "string") return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.entries(value).flatMap(([name, inner]) =>
    inner === undefined ? [] : `${tomlName(name)} = ${tomlValue(inner)}`,
  );
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** TOML's basic strings are escaped like JSON's, except for DEL, which JSON does not escape. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007F");
}

function tomlName(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : tomlString(name);
}
