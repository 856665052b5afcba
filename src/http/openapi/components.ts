import type { TSchema } from "@sinclair/typebox";
import { isObject, type Json, type JsonObject } from "../../base/json.ts";
import { valueSchema } from "../../dialects/schema/fields.ts";
import type { Operation } from "../../gateway/exchange/client-call.ts";
import { operations } from "../../gateway/operations.ts";

const text: JsonObject = { type: "string" };
const nonNegative: JsonObject = { type: "integer", minimum: 0 };
const only = (...values: string[]): JsonObject => ({ type: "string", enum: values });

const required = { required: true };

const headers: JsonObject = {
  "x-request-id": header("Identifies this request; on every response.", text, required),
  "request-id": header("The same as `x-request-id`."),
  "Retry-After": header("Whole seconds to wait; on every 429 and 503.", nonNegative, required),
  "x-should-retry": header("`false`: the same request would fail again.", only("false")),
  "x-ratelimit-limit-requests": header("The key's requests per minute, where it has a limit.", {
    type: "integer",
    minimum: 1,
  }),
  "x-ratelimit-remaining-requests": { schema: nonNegative },
  "x-ratelimit-reset-requests": header("The time until the limit is full again."),
  "idempotent-replayed": header("`true`: a replayed response, not charged.", only("true")),
  "Cache-Control": header("`no-store` on streams."),
  "x-sluice-dropped": header("Fields that the provider's API does not support and that were dropped."),
  "x-sluice-model": header(
    "The model that served in place of the requested one: a fallback, or where a cap steps down.",
  ),
  "x-sluice-count": header(
    "Whether the provider counted, or the gateway estimated.",
    only("exact", "estimate"),
  ),
  "x-sluice-content": header(
    "Whether request and response are recorded, where the operator has turned that on.",
    only("recorded", "may-be-recorded"),
  ),
  "x-sluice-units": header("Charged in addition to tokens: `images=2`, `minutes=1.35`, `search_units=3`."),
  "x-sluice-cost": header("Cost of a non-streaming response: credits, or tokens for a token-budget key.", {
    type: "number",
    minimum: 0,
  }),
  "x-service-credit-remaining": header("Remaining API credit. Returned for credit-mode keys.", {
    type: "number",
  }),
  "x-ratelimit-remaining-tokens": header(
    "Remaining token budget. Returned for token-mode keys.",
    nonNegative,
  ),
};

function header(description: string, schema = text, more: JsonObject = {}): JsonObject {
  return { description, ...more, schema };
}

const parameters: JsonObject = {
  "Idempotency-Key": inHeader(
    "Idempotency-Key",
    "Stable over the retries of one logical request; reuse it only for that same request.",
    { type: "string", minLength: 1, maxLength: 255 },
  ),
  model: {
    name: "model",
    in: "path",
    required: true,
    description: "The model's id or an alias; slashes may be sent as they are or encoded.",
    schema: { type: "string", minLength: 1 },
  },
  "compat-version": inHeader(
    "compat-version",
    "The compatibility version used by native clients; `anthropic-version` means the same.",
    { type: "string", default: "2023-06-01" },
  ),
  "anthropic-version": { name: "anthropic-version", in: "header", schema: text },
  "anthropic-beta": inHeader(
    "anthropic-beta",
    "Forwarded to a provider that speaks Format B; with it, messages of the role `system` are accepted.",
  ),
};

function inHeader(name: string, description: string, schema = text): JsonObject {
  return { name, in: "header", description, schema };
}

const securitySchemes: JsonObject = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description: "`Authorization: Bearer <API_KEY>`, on all routes.",
  },
  headerKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "Format B routes and model listing. Send exactly one of the two schemes.",
  },
};

/** The schemas of these operations, and the headers and parameters that their paths refer to. */
export function buildComponents(described: readonly Operation[], paths: JsonObject): JsonObject {
  const formats = operations
    .filter((operation) => operation.switchedBy === undefined || described.includes(operation))
    .map(({ errors }) => errors);
  const named: Readonly<Record<string, TSchema>> = {
    ...Object.fromEntries(described.flatMap(({ description }) => Object.entries(description.schemas))),
    ...Object.fromEntries(formats.map(({ schemaName, schema }) => [schemaName, schema])),
  };
  const text = JSON.stringify(paths);
  const referred = (kind: string, all: JsonObject) =>
    Object.fromEntries(
      Object.entries(all).filter(([name]) => text.includes(`"#/components/${kind}/${name}"`)),
    );
  const names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]));
  const schemas = Object.entries(named).map(([name, schema]) => [name, jsonSchema(schema, names)]);
  return {
    schemas: Object.fromEntries(schemas),
    headers: referred("headers", headers),
    parameters: referred("parameters", parameters),
    securitySchemes,
  };
}

/**
 * Converts TypeBox schemas for the document: named ones by reference, unions of literals as `enum`, `anyOf` with
 * null as a list of types, and open objects marked as open.
 */
function jsonSchema(schema: TSchema, names: ReadonlyMap<TSchema, string>): JsonObject {
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
