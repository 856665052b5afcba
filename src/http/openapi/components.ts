import type { TSchema } from "@sinclair/typebox";
import type { JsonObject } from "../../base/json.ts";
import type { Operation } from "../../gateway/client-call.ts";
import { errorEnvelopeA, errorEnvelopeB } from "./error-schemas.ts";
import { jsonSchema } from "./json-schema.ts";

const nonNegative = { type: "integer", minimum: 0 };

const headers: JsonObject = {
  "x-request-id": {
    description: "Identifies this request; on every response.",
    required: true,
    schema: { type: "string" },
  },
  "request-id": { description: "The same as `x-request-id`.", schema: { type: "string" } },
  "Retry-After": {
    description: "Whole seconds to wait; on every 429 and 503.",
    required: true,
    schema: nonNegative,
  },
  "x-should-retry": {
    description: "`false`: the same request would fail again.",
    schema: { type: "string", enum: ["false"] },
  },
  "x-ratelimit-limit-requests": {
    description: "The key's requests per minute, where it has a limit.",
    schema: { type: "integer", minimum: 1 },
  },
  "x-ratelimit-remaining-requests": { schema: nonNegative },
  "x-ratelimit-reset-requests": {
    description: "The time until the limit is full again.",
    schema: { type: "string" },
  },
  "idempotent-replayed": {
    description: "`true`: a stored response, given again and charged nothing.",
    schema: { type: "string", enum: ["true"] },
  },
  "Cache-Control": { description: "`no-store` on streams.", schema: { type: "string" } },
  "x-sluice-dropped": {
    description: "Fields that the provider's dialect cannot express and that were left out.",
    schema: { type: "string" },
  },
  "x-sluice-count": {
    description: "Whether the provider counted, or the gateway estimated.",
    schema: { type: "string", enum: ["exact", "estimate"] },
  },
  "x-sluice-units": {
    description: "What was charged beside tokens: `images=2`, `minutes=1.35`, `search_units=3`.",
    schema: { type: "string" },
  },
  "x-sluice-cost": {
    description: "What a whole answer cost: credits, or tokens of a token-mode key.",
    schema: { type: "number", minimum: 0 },
  },
  "x-service-credit-remaining": {
    description: "Remaining API credit. Returned for credit-mode keys.",
    schema: { type: "number" },
  },
  "x-ratelimit-remaining-tokens": {
    description: "Remaining token budget. Returned for token-mode keys.",
    schema: nonNegative,
  },
};

const parameters: JsonObject = {
  "Idempotency-Key": {
    name: "Idempotency-Key",
    in: "header",
    description: "Stable over the retries of one logical request; reuse it only for that same request.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  },
  model: {
    name: "model",
    in: "path",
    required: true,
    description: "The model's id or an alias; slashes may be sent as they are or encoded.",
    schema: { type: "string", minLength: 1 },
  },
  "compat-version": {
    name: "compat-version",
    in: "header",
    description: "The compatibility version used by native clients; `anthropic-version` means the same.",
    schema: { type: "string", default: "2023-06-01" },
  },
  "anthropic-version": { name: "anthropic-version", in: "header", schema: { type: "string" } },
  "anthropic-beta": {
    name: "anthropic-beta",
    in: "header",
    description:
      "Forwarded to a provider that speaks Format B; with it, messages of the role `system` are accepted.",
    schema: { type: "string" },
  },
};

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
  const named: Readonly<Record<string, TSchema>> = {
    ...Object.fromEntries(described.flatMap(({ description }) => Object.entries(description.schemas))),
    ErrorEnvelopeA: errorEnvelopeA,
    ErrorEnvelopeB: errorEnvelopeB,
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
