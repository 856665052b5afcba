import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { valueSchema } from "../../dialects/schema/fields.ts";

/**
 * Converts TypeBox schemas for the document: named ones by reference, unions of literals as `enum`, `anyOf` with
 * null as a list of types, and open objects marked as open.
 */
export function jsonSchema(schema: TSchema, names: ReadonlyMap<TSchema, string>): JsonObject {
  // Serialising to JSON drops TypeBox's symbols, so references are inserted by identity before that.
  return plain(schema, names, true) as JsonObject;
}

function plain(value: unknown, names: ReadonlyMap<TSchema, string>, isRoot = false): Json {
  if (Array.isArray(value)) return value.map((item) => plain(item, names));
  if (!isObject(value)) return value as Json;
  const name = isRoot ? undefined : names.get(value as unknown as TSchema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const copy: JsonObject = {};
  for (const [key, member] of Object.entries(value)) {
    copy[key] = key === "properties" ? plainProperties(member, names) : plain(member, names);
  }
  return openObject(withoutUnion(copy));
}

/** Property names are not keywords, so this map is not read as a schema. */
function plainProperties(properties: Json | undefined, names: ReadonlyMap<TSchema, string>): JsonObject {
  if (!isObject(properties)) return {};
  // The values are still TypeBox's own schemas, only typed as JSON.
  const schemas = Object.entries(properties).map(([name, field]) => {
    return [name, plain(valueSchema(field as unknown as TSchema), names)];
  });
  return Object.fromEntries(schemas);
}

function withoutUnion(schema: JsonObject): JsonObject {
  const { anyOf, ...rest } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const members = anyOf.filter(isObject);
  if (members.every((member) => typeof member["const"] === "string")) {
    return { type: "string", enum: members.map((member) => member["const"] ?? null), ...rest };
  }
  const [first, second] = members;
  const isNullable =
    members.length === 2 && second?.["type"] === "null" && typeof first?.["type"] === "string";
  return isNullable ? { ...first, type: [first["type"] as string, "null"], ...rest } : schema;
}

function openObject(schema: JsonObject): JsonObject {
  if (schema["type"] !== "object" || "additionalProperties" in schema) return schema;
  const { properties, ...rest } = schema;
  const isFreeForm = isObject(properties) && Object.keys(properties).length === 0;
  return { ...rest, ...(isFreeForm ? {} : { properties }), additionalProperties: true };
}
