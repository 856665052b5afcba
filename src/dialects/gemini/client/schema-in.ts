import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { camelCase } from "../../../base/proto-json.ts";

/** Counts, which proto JSON sends as text. */
const counts: ReadonlySet<string> = new Set([
  ...["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"],
]);

const left: ReadonlySet<string> = new Set(["type", "nullable", "propertyOrdering", "example"]);

/** Google's schema, a part of OpenAPI's with types in upper case, as JSON Schema. */
export function readSchema(schema: JsonObject): JsonObject {
  const { type, nullable } = schema;
  const members = Object.entries(schema).flatMap(([spelled, value]) => {
    const name = camelCase(spelled);
    return left.has(name) || value === undefined ? [] : [[name, readMember(name, value)] as const];
  });
  const read = Object.fromEntries(members);
  if (typeof type !== "string") return read;
  const plain = type.toLowerCase();
  return { type: nullable === true ? [plain, "null"] : plain, ...read };
}

function readMember(name: string, value: Json): Json {
  if (name === "properties" && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, readNested(each ?? null)]));
  if (name === "anyOf" && Array.isArray(value)) return value.map(readNested);
  if (name === "items" || name === "additionalProperties") return readNested(value);
  return counts.has(name) && typeof value === "string" ? Number(value) : value;
}

function readNested(value: Json): Json {
  return isObject(value) ? readSchema(value) : value;
}
