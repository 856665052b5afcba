import {
  KindGuard,
  OptionalKind,
  type TArray,
  type TObject,
  type TSchema,
  type TUnion,
} from "@sinclair/typebox";
import { type TypeCheck, TypeCompiler } from "@sinclair/typebox/compiler";
import { isObject } from "../../base/json.ts";

/** The problem with a value, and what to send instead. `param` is a path such as `messages[0].role`. */
export interface Complaint {
  readonly param: string;
  readonly message: string;
}

/**
 * The first violation of a schema in a value, or null. Runs only after the compiled check has failed, and uses the
 * compiled checks of the parts: of 10,000 messages, only the invalid one is walked. The message has types and bounds but
 * never a value, which may be a prompt.
 */
export function explain(schema: TSchema, value: unknown, path = ""): Complaint | null {
  if (KindGuard.IsObject(schema)) return explainObject(schema, value, path);
  if (KindGuard.IsUnion(schema)) return explainUnion(schema, value, path);
  if (KindGuard.IsArray(schema)) return explainArray(schema, value, path);
  return compiled(schema).Check(value) ? null : wrong(schema, value, path);
}

function explainObject(schema: TObject, value: unknown, path: string): Complaint | null {
  if (!isObject(value)) return wrong(schema, value, path);
  for (const [name, field] of Object.entries(schema.properties)) {
    const fieldPath = path === "" ? name : `${path}.${name}`;
    const actual = Object.hasOwn(value, name) ? value[name] : undefined;
    if (actual === undefined && OptionalKind in field) continue;
    if (compiled(field).Check(actual)) continue;
    const complaint = explain(field, actual, fieldPath);
    if (complaint !== null) return complaint;
  }
  return null;
}

function explainArray(schema: TArray, value: unknown, path: string): Complaint | null {
  if (!Array.isArray(value)) return wrong(schema, value, path);
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  if (value.length < minItems || value.length > maxItems) return wrong(schema, value, path);
  const items = compiled(schema.items);
  const index = value.findIndex((item) => !items.Check(item));
  return index === -1 ? null : explain(schema.items, value[index], `${path}[${index}]`);
}

/** The alternative that fails deepest inside the value is most likely the one that was meant. */
function explainUnion(schema: TUnion, value: unknown, path: string): Complaint | null {
  const [first, ...others] = schema.anyOf.filter((member) => !KindGuard.IsNull(member));
  if (first !== undefined && others.length === 0) return value === null ? null : explain(first, value, path);
  let deepest = wrong(schema, value, path);
  for (const alternative of schema.anyOf) {
    const complaint = explain(alternative, value, path);
    if (complaint === null) return null;
    if (levelsOf(complaint.param) > levelsOf(deepest.param)) deepest = complaint;
  }
  return deepest;
}

function levelsOf(param: string): number {
  return param.split(/[.[]/).length;
}

function wrong(schema: TSchema, value: unknown, path: string): Complaint {
  const expected = nameOf(schema);
  const problem =
    value === undefined
      ? `\`${path}\` is missing. Send ${expected}`
      : `\`${path}\` must be ${expected}${contrastTo(expected, value)}`;
  const advice = schema.description === undefined ? "" : ` ${schema.description}`;
  return { param: path, message: `${problem}.${advice}` };
}

/** "not a string" helps if the type is wrong, and would confuse if only a bound is violated. */
function contrastTo(expected: string, value: unknown): string {
  const actual = typeNameOf(value);
  const noun = actual.replace(/^an? /, "");
  return expected.includes(noun) || expected.includes("one of") ? "" : `, not ${actual}`;
}

function typeNameOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function nameOf(schema: TSchema): string {
  if (KindGuard.IsString(schema)) return schema.minLength === 1 ? "a non-empty string" : "a string";
  if (KindGuard.IsInteger(schema)) return `a whole number${boundsOf(schema)}`;
  if (KindGuard.IsNumber(schema)) return `a number${boundsOf(schema)}`;
  if (KindGuard.IsBoolean(schema)) return "true or false";
  if (KindGuard.IsLiteral(schema)) return `\`${schema.const}\``;
  if (KindGuard.IsArray(schema)) return arrayNameOf(schema);
  if (KindGuard.IsObject(schema) || KindGuard.IsRecord(schema)) return "an object";
  if (KindGuard.IsIntersect(schema)) return schema.allOf.map(nameOf)[0] ?? "valid";
  if (KindGuard.IsUnion(schema)) return alternativesOf(schema);
  return schema["type"] ?? "valid";
}

function boundsOf(schema: { minimum?: number; maximum?: number }): string {
  const { minimum = Number.MIN_SAFE_INTEGER, maximum = Number.MAX_SAFE_INTEGER } = schema;
  const bounds: string[] = [];
  if (minimum > Number.MIN_SAFE_INTEGER) bounds.push(`of at least ${minimum}`);
  if (maximum < Number.MAX_SAFE_INTEGER) bounds.push(`of at most ${maximum}`);
  if (schema.maximum === Number.MAX_SAFE_INTEGER) bounds.push("below 2^53");
  return bounds.length === 0 ? "" : ` ${bounds.join(" and ")}`;
}

function arrayNameOf(schema: TArray): string {
  const items = itemsNameOf(schema.items);
  if (schema.maxItems !== undefined) return `an array of at most ${schema.maxItems} ${items}`;
  return schema.minItems === undefined ? `an array of ${items}` : `a non-empty array of ${items}`;
}

function itemsNameOf(items: TSchema): string {
  if (KindGuard.IsString(items)) return "strings";
  if (KindGuard.IsInteger(items)) return "whole numbers";
  if (KindGuard.IsArray(items)) return `arrays of ${itemsNameOf(items.items)}`;
  return KindGuard.IsUnion(items) ? items.anyOf.map(itemsNameOf).join(" or ") : "objects";
}

/** Omits `null`, which means a missing field and would not help. */
function alternativesOf({ anyOf }: TUnion): string {
  const members = anyOf.filter((member) => !KindGuard.IsNull(member));
  const names = members.map(nameOf);
  if (members.every((member) => KindGuard.IsLiteral(member))) return `one of ${names.join(", ")}`;
  const last = names.pop() ?? "valid";
  return names.length === 0 ? last : `${names.join(", ")} or ${last}`;
}

const checks = new WeakMap<TSchema, TypeCheck<TSchema>>();
const compile = (schema: TSchema) => TypeCompiler.Compile(schema);

/** Compiled on first use, so that start-up does not wait for all schemas. */
export function compiled(schema: TSchema): TypeCheck<TSchema> {
  return checks.getOrInsertComputed(schema, compile);
}
