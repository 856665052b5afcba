import { isObject, type Json, type JsonObject } from "../base/json.ts";

/** A configuration as TOML: sections and their tables have headers of their own, and all that is deeper stands in one line. */
export function tomlText(document: JsonObject): string {
  const parts: string[] = [];
  for (const [name, value] of fieldsOf(document)) {
    if (isObject(value)) parts.push(...section(tomlName(name), value));
    else if (isListOfTables(value)) parts.push(...value.map((table) => tableText(`[[${name}]]`, table)));
    else parts.push(`${tomlName(name)} = ${tomlValue(value)}\n`);
  }
  return parts.join("\n");
}

function section(name: string, table: JsonObject): string[] {
  const tables = fieldsOf(table).filter(([, value]) => isObject(value));
  const own = Object.fromEntries(fieldsOf(table).filter(([, value]) => !isObject(value)));
  const isOnlyTables = Object.keys(own).length === 0 && tables.length > 0;
  return [
    ...(isOnlyTables ? [] : [tableText(`[${name}]`, own)]),
    ...tables.map(([inner, value]) => tableText(`[${name}.${tomlName(inner)}]`, value as JsonObject)),
  ];
}

function tableText(header: string, table: JsonObject): string {
  const lines = fieldsOf(table).map(([name, value]) => `${tomlName(name)} = ${tomlValue(value)}`);
  return `${[header, ...lines].join("\n")}\n`;
}

/** In one line. */
export function tomlValue(value: Json): string {
  if (typeof value === "string") return tomlString(value);
  if (Array.isArray(value)) return `[${value.map(tomlValue).join(", ")}]`;
  if (!isObject(value)) return String(value);
  const fields = fieldsOf(value).map(([name, inner]) => `${tomlName(name)} = ${tomlValue(inner)}`);
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}

/** TOML's basic strings are escaped like JSON's, except for DEL, which JSON does not escape. */
export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007F");
}

function tomlName(name: string): string {
  return /^[A-Za-z0-9_-]+$/.test(name) ? name : tomlString(name);
}

function fieldsOf(table: JsonObject): [string, Json][] {
  return Object.entries(table).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
}

function isListOfTables(value: Json): value is JsonObject[] {
  return Array.isArray(value) && value.length > 0 && value.every(isObject);
}
