import type { Json, JsonObject } from "../../base/json.ts";
import type { SwitchedRoutes } from "../../base/requests/route-switches.ts";
import type { ClientOperation } from "../../dialects/contract/client-dialect.ts";
import type { Operation } from "../../gateway/exchange/client-call.ts";
import { operations } from "../../gateway/operations.ts";
import { buildComponents } from "./components.ts";
import { errorResponses, headerReferences } from "./errors.ts";

/** The version of the interface, not of the program. */
const interfaceVersion = "1.0.0";

/**
 * The OpenAPI document of the interface, for `/openapi.json`. It is built from the schemas that validate requests,
 * so the two cannot disagree.
 */
export function buildOpenApi(): JsonObject {
  const ofInterface = operations.filter(({ switchedBy }) => switchedBy === undefined);
  return document("A gateway in front of text-generation models, in two wire formats.", ofInterface);
}

/** The document of the routes beyond the interface that are on, for `/openapi-extensions.json`. */
export function buildOpenApiExtensions(routes: SwitchedRoutes): JsonObject {
  const beyond = operations.filter(({ switchedBy }) => switchedBy !== undefined && routes[switchedBy]);
  return document("What this gateway serves beyond its interface.", beyond);
}

function document(description: string, described: readonly Operation[]): JsonObject {
  const paths = buildPaths(described);
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice",
      version: interfaceVersion,
      description,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [
      { url: "/", description: "Origin of API-credit keys (mode `credit`)" },
      { url: "/token", description: "Origin of token-budget keys (mode `token_budget`)" },
    ],
    tags: [
      { name: "Format A", description: "Chat completions, responses, models and usage" },
      { name: "Format B", description: "Messages" },
    ],
    paths,
    components: buildComponents(described, paths),
  };
}

function buildPaths(described: readonly Operation[]): JsonObject {
  const byPath = Map.groupBy(described, documentedPath);
  return Object.fromEntries(
    [...byPath].map(([path, operations]) => [
      path,
      Object.fromEntries(
        operations.map((operation) => [operation.method.toLowerCase(), describe(operation)]),
      ),
    ]),
  );
}

function documentedPath({ path, description: { inPath } }: Operation): string {
  return path.replace("*", `{${inPath}}`).replaceAll(/:(\w+)/g, "{$1}");
}

/** Parameters of the path are described by their names alone. */
function parametersOf({ path, description: { headers = [], inPath, query = [] } }: Operation): Json[] {
  const named = [...headers, ...(inPath === undefined ? [] : [inPath])];
  const segments = [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);
  return [
    ...named.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...segments.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    ...query,
  ];
}

function describe(operation: Operation): JsonObject {
  const { errors, codes } = operation;
  const { operationId, summary, description, request } = operation.description;
  const parameters = parametersOf(operation);
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [errors.title],
    security: securityOf(operation),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: requestContent(operation.description, request) } }),
    responses: { ...success(operation), ...errorResponses(errors, codes) },
  };
}

function requestContent({ formFile }: ClientOperation, request: string): JsonObject {
  const json = { "application/json": { schema: reference(request) } };
  if (formFile === undefined) return json;
  const file = { type: "object", required: [formFile], properties: { [formFile]: binary } };
  return { "multipart/form-data": { schema: { allOf: [reference(request), file] } }, ...json };
}

const binary = { type: "string", contentMediaType: "application/octet-stream" };

function securityOf({ needsKey, keyHeader }: Operation): Json {
  return [...(needsKey ? [] : [{}]), { bearer: [] }, ...(keyHeader === null ? [] : [{ headerKey: [] }])];
}

function success({ isUpgrade, errors, headers, description }: Operation): JsonObject {
  const { summary, response, responseType = "application/json", events } = description;
  if (isUpgrade === true) return { "101": { description: summary } };
  const content: JsonObject = { [responseType]: { schema: reference(response) } };
  if (events !== undefined)
    content["text/event-stream"] = { schema: { type: "string", description: events } };
  const shown = headerReferences([...errors.requestIdHeaders, ...headers]);
  return { "200": { description: summary, headers: shown, content } };
}

function reference(schema: string): JsonObject {
  return { $ref: `#/components/schemas/${schema}` };
}
