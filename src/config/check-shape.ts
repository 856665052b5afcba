import type { TSchema, TUnion } from "@sinclair/typebox";
import { Errors, type ValueError, ValueErrorType } from "@sinclair/typebox/errors";
import { Check } from "@sinclair/typebox/value";
import { isObject, type JsonObject } from "../base/json.ts";
import { type DescribedSchema, expectation, expectedText } from "../base/text/schema-text.ts";
import { type ProblemList, pathFromPointer } from "./problems.ts";
import { configSchema } from "./schema.ts";
import { didYouMean } from "./suggest.ts";

/**
 * Adds what the schema rejects, one problem per path, in terms that an operator understands. The schema is not compiled:
 * it is used once per start, and compiling would take longer than it saves.
 */
export function checkShape(document: JsonObject, problems: ProblemList): void {
  if (Check(configSchema, document)) return;
  const seen = new Set<string>();
  for (const error of detailed(Errors(configSchema, document))) {
    if (seen.has(error.path)) continue;
    seen.add(error.path);
    problems.add(pathFromPointer(error.path), messageOf(error));
  }
}

/** For a union of a table and a list, the errors of the one that was written. */
function* detailed(errors: Iterable<ValueError>): Iterable<ValueError> {
  for (const error of errors) {
    const written = Array.isArray(error.value) ? "array" : isObject(error.value) ? "object" : null;
    const variants = error.type === ValueErrorType.Union ? ((error.schema as TUnion).anyOf ?? []) : [];
    const index = variants.findIndex(({ type }) => type === written);
    const found = index === -1 ? undefined : error.errors[index];
    if (found === undefined) yield error;
    else yield* detailed(found);
  }
}

function messageOf(error: ValueError): string {
  if (error.type === ValueErrorType.ObjectAdditionalProperties) return unknownName(error);
  if (error.type === ValueErrorType.ObjectRequiredProperty) {
    return `missing; it must be ${expectation(error.schema as DescribedSchema)}`;
  }
  return `must be ${expectation(error.schema as DescribedSchema)}${foundInstead(error)}`;
}

function unknownName(error: ValueError): string {
  const name = pathFromPointer(error.path.slice(error.path.lastIndexOf("/"))).replace(/^"|"$/g, "");
  const parent = error.schema as { properties?: Record<string, TSchema>; patternProperties?: unknown };
  if (parent.patternProperties !== undefined) {
    return "a provider's name has lower case letters, digits, - and _ only, and starts with a letter or digit";
  }
  const known = Object.keys(parent.properties ?? {});
  const meant = foreignNames.get(name);
  if (meant !== undefined && known.includes(meant)) return `unknown name, did you mean "${meant}"?`;
  const suggestion = didYouMean(name, known);
  return `unknown name${suggestion === "" ? sectionOf(name) : suggestion}`;
}

/** Other vendors' and gateways' names for our prices, for which no spelling is near enough. */
const foreignNames: ReadonlyMap<string, string> = new Map([
  ["cache_read", "cached_input"],
  ["cache_read_input", "cached_input"],
  ["input_cached", "cached_input"],
  ["cache_creation", "cache_write"],
  ["cache_write_input", "cache_write"],
  ["prompt", "input"],
  ["completion", "output"],
]);

/** The section that a misplaced name belongs to, e.g. `[money]` for `usd_per_credit`. */
function sectionOf(name: string): string {
  for (const [section, schema] of Object.entries(configSchema.properties)) {
    if (Object.hasOwn((schema as { properties?: object }).properties ?? {}, name))
      return `; it belongs under [${section}]`;
  }
  return "";
}

/** Describes the value that was found. Only numbers and choices are repeated, because other strings may be secrets. */
function foundInstead({ path, value, schema }: ValueError): string {
  if (typeof value === "number" || typeof value === "boolean") return `, not ${value}`;
  if (typeof value === "string") return foundString(value, schema as DescribedSchema);
  if (Array.isArray(value)) return value.length === 0 ? ", not an empty one" : ", not a list";
  if (Object.getPrototypeOf(value) !== Object.prototype) return ", not a date";
  const isOneOfMany = (schema as DescribedSchema).items?.type === "object";
  return isOneOfMany ? `, not a table; use [[${path.slice(1).replace(/\/\d+\//g, ".")}]]` : ", not a table";
}

function foundString(value: string, schema: DescribedSchema): string {
  const choices = schema.anyOf?.flatMap(({ const: choice }) => (typeof choice === "string" ? [choice] : []));
  if (choices !== undefined && choices.length > 0) {
    return `, not ${JSON.stringify(value)}${didYouMean(value, choices)}`;
  }
  if (schema.pattern !== undefined && /^(?:env|file):/.test(value))
    return "; only secrets can refer to the environment or a file";
  if (schema.type === "string" || schema[expectedText] !== undefined) return "";
  return value === "" ? ", not an empty one" : ", not a string";
}
