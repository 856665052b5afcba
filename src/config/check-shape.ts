import type { TSchema } from "@sinclair/typebox";
import { Errors, type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import type { JsonObject } from "../base/json.ts";
import { type ProblemList, pathFromPointer } from "./problems.ts";
import { configSchema } from "./schema.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Adds what the schema finds wrong, in an operator's words, one problem per place. The schema is walked, not
 * compiled: it is used once per start, and compiling it would take longer than all it could save.
 */
export function checkShape(document: JsonObject, problems: ProblemList): void {
  if (Check(configSchema, document)) return;
  const seen = new Set<string>();
  for (const error of Errors(configSchema, document)) {
    if (seen.has(error.path)) continue;
    seen.add(error.path);
    problems.add(pathFromPointer(error.path), messageOf(error));
  }
}

function messageOf(error: ValueError): string {
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return unknownName(error);
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    return `missing; it must be ${expectation(error.schema as Described)}`;
  }
  return `must be ${expectation(error.schema as Described)}${instead(error)}`;
}

function unknownName(error: ValueError): string {
  const name = pathFromPointer(error.path.slice(error.path.lastIndexOf("/"))).replace(/^"|"$/g, "");
  const parent = error.schema as { properties?: Record<string, TSchema>; patternProperties?: unknown };
  if (parent.patternProperties !== undefined) {
    return "a provider's name has lower case letters, digits, - and _ only, and starts with a letter or digit";
  }
  const near = didYouMean(name, Object.keys(parent.properties ?? {}));
  return `unknown name${near === "" ? homeOf(name) : near}`;
}

/** Where a name that stands in the wrong place would be right, such as `usd_per_credit` outside `[money]`. */
function homeOf(name: string): string {
  for (const [section, schema] of Object.entries(configSchema.properties)) {
    if (name in ((schema as { properties?: object }).properties ?? {}))
      return `; it belongs under [${section}]`;
  }
  return "";
}

interface Described {
  readonly type?: string;
  readonly anyOf?: readonly Described[];
  readonly const?: unknown;
  readonly items?: Described;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly pattern?: string;
}

function expectation(schema: Described): string {
  if (schema.anyOf !== undefined) return alternatives(schema.anyOf);
  switch (schema.type) {
    case "integer":
      return `a whole number${bounds(schema)}`;
    case "number":
      return `a number${bounds(schema)}`;
    case "boolean":
      return "true or false";
    case "array":
      return schema.minItems === undefined ? "a list" : "a list with at least one element";
    case "object":
      return "a table";
    default:
      if (schema.pattern === "^https?://") return "an address that starts with http:// or https://";
      return schema.minLength === undefined ? "a string" : "a string that is not empty";
  }
}

function alternatives(schemas: readonly Described[]): string {
  const isChoice = schemas.every((schema) => schema.const !== undefined);
  if (isChoice) return `one of ${schemas.map((schema) => JSON.stringify(schema.const)).join(", ")}`;
  return schemas.map(expectation).join(" or ");
}

function bounds(schema: Described): string {
  if (schema.exclusiveMinimum !== undefined) return ` above ${schema.exclusiveMinimum}`;
  if (schema.minimum === undefined) return "";
  return schema.maximum === undefined
    ? ` of at least ${schema.minimum}`
    : ` from ${schema.minimum} to ${schema.maximum}`;
}

/** What stands there now. Only numbers and choices are repeated: other strings may be secrets. */
function instead({ value, schema }: ValueError): string {
  if (typeof value === "number" || typeof value === "boolean") return `, not ${value}`;
  if (typeof value === "string") return insteadOfString(value, schema as Described);
  if (Array.isArray(value)) return value.length === 0 ? ", not an empty one" : ", not a list";
  return Object.getPrototypeOf(value) === Object.prototype ? ", not a table" : ", not a date";
}

function insteadOfString(value: string, schema: Described): string {
  const choices = schema.anyOf?.flatMap(({ const: choice }) => (typeof choice === "string" ? [choice] : []));
  if (choices !== undefined && choices.length > 0) {
    return `, not ${JSON.stringify(value)}${didYouMean(value, choices)}`;
  }
  return schema.type === "string" ? "" : ", not a string";
}
