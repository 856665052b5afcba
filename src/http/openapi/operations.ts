import type { ErrorCode } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ErrorFormat } from "../../dialects/errors/envelope.ts";
import { type ClientDialectName, clientDialect, clientDialectNames } from "../../dialects/registry.ts";
import { errorResponses, headerReferences } from "./errors.ts";

/** What one endpoint takes and returns (interface, 4). */
interface Operation {
  readonly path: string;
  readonly method: "get" | "post";
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly format: ErrorFormat;
  readonly security: readonly ("none" | "bearer" | "headerKey")[];
  readonly parameters?: readonly string[];
  readonly request?: string;
  readonly response: string;
  /** The events of a stream, if the endpoint can stream. */
  readonly events?: string;
  readonly headers: readonly string[];
  readonly errors: readonly ErrorCode[];
}

const rateHeaders = [
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
];
const balanceHeaders = ["x-service-credit-remaining", "x-ratelimit-remaining-tokens"];
const generationHeaders = [
  ...rateHeaders,
  "idempotent-replayed",
  "Cache-Control",
  "x-sluice-dropped",
  "x-sluice-cost",
  ...balanceHeaders,
];

const listErrors = [
  "invalid_credentials",
  "rate_limit_exceeded",
  "service_unavailable",
  "internal_error",
] as const;
const countErrors = [
  ...listErrors,
  "invalid_request",
  "key_expired",
  "key_disabled",
  "model_not_found",
] as const;
const generationErrors = [
  ...countErrors,
  "context_length_exceeded",
  "insufficient_credit",
  "idempotency_conflict",
  "idempotency_in_flight",
  "balance_temporarily_reserved",
  "limit_reached",
  "provider_unavailable",
  "upstream_error",
] as const;

/** The route of a dialect. */
function generation(name: ClientDialectName): Operation {
  const { route, operation, errorFormat: format, timeoutCode } = clientDialect(name);
  const { headers: parameters = [], schemas: _, ...described } = operation;
  const isNative = format === "anthropic";
  return {
    ...described,
    path: route.path,
    method: "post",
    format,
    security: route.acceptsApiKeyHeader ? ["bearer", "headerKey"] : ["bearer"],
    parameters: ["Idempotency-Key", ...parameters],
    headers: isNative ? ["request-id", ...generationHeaders] : generationHeaders,
    errors: [...new Set([...generationErrors, timeoutCode])],
  };
}

const operations: readonly Operation[] = [
  {
    path: "/v1/models",
    method: "get",
    operationId: "listModels",
    summary: "List models",
    description:
      "Without a credential the public catalog; with one, the models within the key's provider scope and entitlements.",
    format: "openai",
    security: ["none", "bearer", "headerKey"],
    response: "ModelList",
    headers: rateHeaders,
    errors: listErrors,
  },
  {
    path: "/v1/models/{model}",
    method: "get",
    operationId: "getModel",
    summary: "Describe a model",
    description:
      "By its id or an alias. A model outside the public catalog, or the key's provider scope and entitlements, is not found.",
    format: "openai",
    security: ["none", "bearer", "headerKey"],
    parameters: ["model"],
    response: "Model",
    headers: rateHeaders,
    errors: [...listErrors, "invalid_request", "model_not_found"],
  },
  ...clientDialectNames.map(generation),
  {
    path: "/v1/messages/count_tokens",
    method: "post",
    operationId: "countTokens",
    summary: "Count input tokens",
    description: "Creates no model response and deducts no generation usage.",
    format: "anthropic",
    security: ["bearer", "headerKey"],
    parameters: ["compat-version", "anthropic-version", "anthropic-beta"],
    request: "TokenCountRequest",
    response: "TokenCountResponse",
    headers: ["request-id", ...rateHeaders, "x-sluice-count"],
    errors: countErrors,
  },
  {
    path: "/v1/usage",
    method: "get",
    operationId: "getUsage",
    summary: "Usage summary of the calling key",
    format: "openai",
    security: ["bearer"],
    response: "UsageSummary",
    headers: [...rateHeaders, ...balanceHeaders],
    errors: listErrors,
  },
];

/** What the interface calls the two formats. */
const tags: Readonly<Record<ErrorFormat, string>> = { openai: "Format A", anthropic: "Format B" };

export function buildPaths(): JsonObject {
  return Object.fromEntries(
    operations.map((operation) => [operation.path, { [operation.method]: describe(operation) }]),
  );
}

function describe(operation: Operation): JsonObject {
  const { operationId, summary, description, format, security, parameters = [], request } = operation;
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tags[format]],
    security: security.map((scheme): Json => (scheme === "none" ? {} : { [scheme]: [] })),
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })) }),
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: reference(request) } } } }),
    responses: { "200": success(operation), ...errorResponses(format, operation.errors) },
  };
}

function success({ summary, response, events, headers }: Operation): JsonObject {
  const content: JsonObject = { "application/json": { schema: reference(response) } };
  if (events !== undefined)
    content["text/event-stream"] = { schema: { type: "string", description: events } };
  return { description: summary, headers: headerReferences(["x-request-id", ...headers]), content };
}

function reference(schema: string): JsonObject {
  return { $ref: `#/components/schemas/${schema}` };
}
