import { isObject, type Json, type JsonObject } from "../../base/json.ts";

const deepest = 8;

/** A plausible value for a JSON schema: tool arguments, or an answer that must have a given shape. */
export function sampleOf(schema: JsonObject, hint: string, depth = 0): Json {
  const choices = schema["enum"];
  if (Array.isArray(choices) && choices.length > 0) return choices[0] ?? null;
  if (schema["const"] !== undefined) return schema["const"];
  const alternatives = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(alternatives) && isObject(alternatives[0]) && depth < deepest) {
    return sampleOf(alternatives[0], hint, depth + 1);
  }
  switch (typeOf(schema)) {
    case "object":
      return objectSample(schema, hint, depth);
    case "array":
      return isObject(schema["items"]) && depth < deepest ? [sampleOf(schema["items"], hint, depth + 1)] : [];
    case "integer":
    case "number":
      return typeof schema["minimum"] === "number" ? schema["minimum"] : 1;
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return hint;
  }
}

function typeOf(schema: JsonObject): Json | undefined {
  const type = schema["type"];
  if (Array.isArray(type)) return type[0];
  return type ?? (isObject(schema["properties"]) ? "object" : "string");
}

/** Required properties, or all when none is. */
function objectSample(schema: JsonObject, hint: string, depth: number): JsonObject {
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const sample: JsonObject = {};
  if (depth >= deepest) return sample;
  for (const [name, property] of Object.entries(properties)) {
    if (required.length > 0 && !required.includes(name)) continue;
    if (isObject(property)) sample[name] = sampleOf(property, hint, depth + 1);
  }
  return sample;
}
