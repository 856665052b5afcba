import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectOf, objectsOf, stringOf, stringsOf } from "../../json/json-fields.ts";

/** Keywords that mean the same in both. */
const kept = [
  ...["title", "description", "required", "propertyOrdering", "default", "example", "pattern"],
  ...["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"],
  ...["minProperties", "maxProperties", "nullable"],
] as const;

const formats: ReadonlySet<string> = new Set(["enum", "date-time", "int32", "int64", "float", "double"]);

/** A recursive schema ends here: the rest is any object. */
const maxDepth = 32;

/** A JSON schema in the subset of OpenAPI 3.0 that models before 2.5 take. What has no equivalent is left out. */
export function openApiSchema(schema: JsonObject): JsonObject {
  return new SchemaConverter(schema).convert(schema, [], 0);
}

class SchemaConverter {
  readonly #definitions: JsonObject;

  constructor(root: JsonObject) {
    this.#definitions = { ...objectOf(root["definitions"]), ...objectOf(root["$defs"]) };
  }

  /** `within`: the definitions that are being converted, so that a cycle ends. */
  convert(schema: Json | undefined, within: readonly string[], depth: number): JsonObject {
    if (!isObject(schema)) return {};
    const reference = stringOf(schema["$ref"]);
    if (reference !== null) return this.#resolve(reference, within, depth);
    if (depth >= maxDepth) return { type: "OBJECT" };
    const merged = this.#merge(schema);
    const converted: JsonObject = {};
    for (const keyword of kept) if (merged[keyword] !== undefined) converted[keyword] = merged[keyword];
    addType(converted, merged);
    addEnum(converted, merged);
    const format = stringOf(merged["format"]);
    if (format !== null && formats.has(format)) converted["format"] = format;
    this.#addNested(converted, merged, within, depth + 1);
    return converted;
  }

  #resolve(reference: string, within: readonly string[], depth: number): JsonObject {
    const name = reference.split("/").at(-1) ?? "";
    if (within.includes(name)) return { type: "OBJECT" };
    return this.convert(this.#definitions[name], [...within, name], depth);
  }

  #addNested(converted: JsonObject, schema: JsonObject, within: readonly string[], depth: number): void {
    const convert = (nested: Json | undefined) => this.convert(nested, within, depth);
    const properties = objectOf(schema["properties"]);
    if (properties !== null && Object.keys(properties).length > 0) {
      converted["properties"] = Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, convert(property)]),
      );
    }
    if (converted["type"] === "ARRAY")
      converted["items"] = convert(schema["items"] ?? listOf(schema["prefixItems"])[0]);
    const alternatives = [...objectsOf(schema["anyOf"]), ...objectsOf(schema["oneOf"])];
    if (alternatives.length > 0) addAlternatives(converted, alternatives, convert);
  }

  /** All of several schemas, as one. */
  #merge(schema: JsonObject): JsonObject {
    const parts = objectsOf(schema["allOf"]);
    if (parts.length === 0) return schema;
    const merged: JsonObject = { ...schema };
    for (const part of parts) {
      const reference = stringOf(part["$ref"]);
      const whole =
        reference === null ? part : objectOf(this.#definitions[reference.split("/").at(-1) ?? ""]);
      if (whole === null) continue;
      const properties = { ...objectOf(merged["properties"]), ...objectOf(whole["properties"]) };
      const required = new Set([...stringsOf(merged["required"]), ...stringsOf(whole["required"])]);
      Object.assign(merged, whole, schema);
      if (Object.keys(properties).length > 0) merged["properties"] = properties;
      if (required.size > 0) merged["required"] = [...required];
    }
    return merged;
  }
}

/** One type, in upper case. `null` among several makes it nullable; several others are alternatives. */
function addType(converted: JsonObject, schema: JsonObject): void {
  const types = [schema["type"] ?? impliedType(schema)].flat().filter((type) => typeof type === "string");
  const named = types.filter((type) => type !== "null").map((type) => type.toUpperCase());
  if (named.length < types.length) converted["nullable"] = true;
  if (named.length === 1) converted["type"] = named[0];
  else if (named.length > 1) converted["anyOf"] = named.map((type) => ({ type }));
}

function impliedType(schema: JsonObject): Json {
  if (schema["properties"] !== undefined) return "object";
  if (schema["items"] !== undefined) return "array";
  const values = [...listOf(schema["enum"]), ...(schema["const"] === undefined ? [] : [schema["const"]])];
  return values.length > 0 && values.every((value) => typeof value === "string") ? "string" : [];
}

/** Only texts can be enumerated, and not an empty one. */
function addEnum(converted: JsonObject, schema: JsonObject): void {
  const values = schema["const"] === undefined ? listOf(schema["enum"]) : [schema["const"]];
  const texts = values.filter((value) => typeof value === "string" && value !== "");
  if (texts.length === 0 || (converted["type"] !== "STRING" && converted["type"] !== undefined)) return;
  converted["type"] = "STRING";
  converted["enum"] = texts;
}

/** `null` among the alternatives makes the rest nullable. */
function addAlternatives(
  converted: JsonObject,
  alternatives: readonly JsonObject[],
  convert: (schema: Json) => JsonObject,
): void {
  const others = alternatives.filter(({ type }) => type !== "null");
  if (others.length < alternatives.length) converted["nullable"] = true;
  const [only] = others;
  if (others.length === 1 && only !== undefined) Object.assign(converted, { ...convert(only), ...converted });
  else if (others.length > 1) converted["anyOf"] = others.map(convert);
}
