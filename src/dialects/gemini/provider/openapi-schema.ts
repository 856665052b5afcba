import { tableOf } from "../../../base/collections/table.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { listOf, objectOf, objectsOf, stringOf, stringsOf } from "../../json/json-fields.ts";

/** Keywords that mean the same in both. */
const kept = [
  ...["title", "description", "propertyOrdering", "default", "example", "pattern"],
  ...["minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"],
  ...["minProperties", "maxProperties", "nullable"],
] as const;

/** The formats that each type may have. */
const formats = tableOf<readonly string[]>({
  STRING: ["enum", "date-time"],
  INTEGER: ["int32", "int64"],
  NUMBER: ["float", "double"],
});

/** A recursive schema ends here: the rest is any object. */
const maxDepth = 32;

/**
 * How much the references of one request can add to it. Definitions that refer to others twice double with each of
 * them, so that a few kilobytes would become many megabytes. Beyond this limit, a reference becomes any object.
 */
export class ReferenceRoom {
  #charactersLeft = 64 * 1024;
  readonly #sizes = new WeakMap<object, number>();

  /** Whether one more copy of this has room. */
  take(definition: JsonObject): boolean {
    const size = this.#sizes.get(definition) ?? Math.max(JSON.stringify(definition).length, minSize);
    this.#sizes.set(definition, size);
    if (size > this.#charactersLeft) return false;
    this.#charactersLeft -= size;
    return true;
  }
}

/** Writing the smallest definition takes time, too. */
const minSize = 64;

/**
 * A JSON schema in the subset of OpenAPI 3.0 that models before 2.5 accept. Keywords without an equivalent are dropped. Google
 * requires a type in every schema, a property for every required name, and nothing next to `anyOf`.
 */
export function openApiSchema(schema: JsonObject, room = new ReferenceRoom()): JsonObject {
  return new SchemaConverter(schema, room).convert(schema, [], 0);
}

/** Converts a function's parameters, which are one object. Null if the object has no properties: Google rejects that. */
export function openApiParameters(schema: JsonObject, room = new ReferenceRoom()): JsonObject | null {
  const converted = openApiSchema({ type: "object", ...schema }, room);
  const whole = Array.isArray(converted["anyOf"]) ? joined(objectsOf(converted["anyOf"])) : converted;
  return objectOf(whole["properties"]) === null ? null : whole;
}

/** An object that any of several fit into. */
function joined(alternatives: readonly JsonObject[]): JsonObject {
  const properties = assigned(alternatives.map((each) => objectOf(each["properties"])));
  const [first = new Set<string>(), ...others] = alternatives.map(
    (each) => new Set(stringsOf(each["required"])),
  );
  const required = [...first].filter((name) => others.every((names) => names.has(name)));
  return {
    type: "OBJECT",
    ...(Object.keys(properties).length === 0 ? {} : { properties }),
    ...(required.length === 0 ? {} : { required }),
  };
}

/** Later members win. There may be more objects than a call takes arguments. */
function assigned(objects: readonly (JsonObject | null)[]): JsonObject {
  const whole: JsonObject = {};
  for (const object of objects) Object.assign(whole, object);
  return whole;
}

class SchemaConverter {
  readonly #root: JsonObject;
  readonly #room: ReferenceRoom;

  constructor(root: JsonObject, room: ReferenceRoom) {
    this.#root = root;
    this.#room = room;
  }

  /** `within`: the references that are being converted, so that a cycle ends. */
  convert(schema: Json | undefined, within: readonly string[], depth: number): JsonObject {
    if (!isObject(schema)) return { ...anything };
    const reference = stringOf(schema["$ref"]);
    if (reference !== null) return this.#resolve(reference, schema, within, depth);
    if (depth >= maxDepth) return { type: "OBJECT" };
    const merged = this.#merge(schema);
    const converted: JsonObject = {};
    for (const keyword of kept) if (merged[keyword] !== undefined) converted[keyword] = merged[keyword];
    addType(converted, merged);
    addEnum(converted, merged);
    addFormat(converted, merged);
    this.#addNested(converted, merged, within, depth + 1);
    return complete(converted);
  }

  #resolve(
    reference: string,
    { description }: JsonObject,
    within: readonly string[],
    depth: number,
  ): JsonObject {
    if (within.includes(reference)) return { type: "OBJECT" };
    const definition = this.#at(reference);
    if (isObject(definition) && !this.#room.take(definition)) return { type: "OBJECT" };
    const resolved = this.convert(definition, [...within, reference], depth);
    return description === undefined || resolved["anyOf"] !== undefined
      ? resolved
      : { ...resolved, description };
  }

  /** The value that a JSON pointer within the schema points to. */
  #at(reference: string): Json | undefined {
    let found: Json | undefined = this.#root;
    for (const step of reference.replace(/^#\/?/, "").split("/")) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (name !== "") found = Array.isArray(found) ? found[Number(name)] : objectOf(found)?.[name];
    }
    return found;
  }

  #addNested(converted: JsonObject, schema: JsonObject, within: readonly string[], depth: number): void {
    const convert = (nested: Json | undefined) => this.convert(nested, within, depth);
    const properties = objectOf(schema["properties"]) ?? {};
    if (Object.keys(properties).length > 0) {
      converted["properties"] = Object.fromEntries(
        Object.entries(properties).map(([name, property]) => [name, convert(property)]),
      );
      const required = stringsOf(schema["required"]).filter((name) => Object.hasOwn(properties, name));
      if (required.length > 0) converted["required"] = required;
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
    const wholes = parts.map((part) => this.#whole(part)).filter((whole) => whole !== null);
    const all = [schema, ...wholes];
    const properties = assigned(all.map((each) => objectOf(each["properties"])));
    const required = new Set(all.flatMap((each) => stringsOf(each["required"])));
    const merged = assigned([...wholes, schema]);
    if (Object.keys(properties).length > 0) merged["properties"] = properties;
    if (required.size > 0) merged["required"] = [...required];
    return merged;
  }

  #whole(part: JsonObject): JsonObject | null {
    const reference = stringOf(part["$ref"]);
    if (reference === null) return part;
    const definition = objectOf(this.#at(reference));
    return definition !== null && this.#room.take(definition) ? definition : null;
  }
}

/** A string can represent any value. */
const anything = { type: "STRING" } as const;

/** One type, in upper case. `null` among several makes it nullable; several others are alternatives. */
function addType(converted: JsonObject, schema: JsonObject): void {
  const types = [schema["type"] ?? impliedTypes(schema)].flat().filter((type) => typeof type === "string");
  const named = types.filter((type) => type !== "null").map((type) => type.toUpperCase());
  if (named.length < types.length) converted["nullable"] = true;
  if (named.length === 1) converted["type"] = named[0];
  else if (named.length > 1) converted["anyOf"] = named.map((type) => ({ type }));
}

function impliedTypes(schema: JsonObject): Json[] {
  if (schema["properties"] !== undefined) return ["object"];
  if (schema["items"] !== undefined || schema["prefixItems"] !== undefined) return ["array"];
  return [...new Set(valuesOf(schema).map(typeOfValue))];
}

function valuesOf(schema: JsonObject): readonly Json[] {
  return schema["const"] === undefined ? listOf(schema["enum"]) : [schema["const"]];
}

function typeOfValue(value: Json): string {
  if (value === null) return "null";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return Array.isArray(value) ? "array" : typeof value;
}

/** Only texts can be enumerated, and not an empty one. */
function addEnum(converted: JsonObject, schema: JsonObject): void {
  if (converted["type"] !== "STRING") return;
  const texts = valuesOf(schema).filter((value) => typeof value === "string" && value !== "");
  if (texts.length > 0) converted["enum"] = texts;
}

function addFormat(converted: JsonObject, schema: JsonObject): void {
  const format = stringOf(schema["format"]) ?? "";
  if (formats[stringOf(converted["type"]) ?? ""]?.includes(format) === true) converted["format"] = format;
}

/** `null` among the alternatives makes the rest nullable. */
function addAlternatives(
  converted: JsonObject,
  alternatives: readonly JsonObject[],
  convert: (schema: Json) => JsonObject,
): void {
  // In a schema that has a type, alternatives are only further conditions, such as which properties go together.
  const isDescribed = converted["type"] !== undefined && converted["type"] !== "OBJECT";
  if (isDescribed || converted["properties"] !== undefined) return;
  const others = alternatives.filter(({ type }) => type !== "null");
  if (others.length < alternatives.length) converted["nullable"] = true;
  const [only] = others;
  if (others.length === 1 && only !== undefined) Object.assign(converted, { ...convert(only), ...converted });
  else if (others.length > 1) converted["anyOf"] = others.map(convert);
}

/** Nothing is allowed next to `anyOf`, so each alternative gets the common parts. Everything else gets a type. */
function complete(converted: JsonObject): JsonObject {
  const { anyOf, type: _, nullable, description } = converted;
  if (!Array.isArray(anyOf))
    return converted["type"] === undefined ? { ...converted, ...anything } : converted;
  const common = {
    ...(nullable === undefined ? {} : { nullable }),
    ...(description === undefined ? {} : { description }),
  };
  return { anyOf: anyOf.map((alternative) => ({ ...common, ...objectOf(alternative) })) };
}
