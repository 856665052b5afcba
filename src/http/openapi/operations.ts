import type { Json, JsonObject } from "../../base/json.ts";
import { type ErrorFormat, requestIdHeaders } from "../../dialects/errors/envelope.ts";
import type { Operation } from "../../gateway/client-call.ts";
import { errorResponses, headerReferences } from "./errors.ts";

/** What the interface calls the two formats. */
const tags: Readonly<Record<ErrorFormat, string>> = { openai: "Format A", anthropic: "Format B" };

export function buildPaths(described: readonly Operation[]): JsonObject {
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

/** Those of the whole path's segments are described by their names alone. */
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
    tags: [tags[errors]],
    security: securityOf(operation),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(request === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: reference(request) } } } }),
    responses: { "200": success(operation), ...errorResponses(errors, codes) },
  };
}

function securityOf({ needsKey, acceptsApiKeyHeader }: Operation): Json {
  return [...(needsKey ? [] : [{}]), { bearer: [] }, ...(acceptsApiKeyHeader ? [{ headerKey: [] }] : [])];
}

function success({ errors, headers, description: { summary, response, events } }: Operation): JsonObject {
  const content: JsonObject = { "application/json": { schema: reference(response) } };
  if (events !== undefined)
    content["text/event-stream"] = { schema: { type: "string", description: events } };
  return {
    description: summary,
    headers: headerReferences([...requestIdHeaders[errors], ...headers]),
    content,
  };
}

function reference(schema: string): JsonObject {
  return { $ref: `#/components/schemas/${schema}` };
}
