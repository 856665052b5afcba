import type { Json, JsonObject } from "../../base/json.ts";
import { type ErrorFormat, requestIdHeaders } from "../../dialects/errors/envelope.ts";
import type { Operation } from "../../gateway/client-call.ts";
import { operations } from "../../gateway/operations.ts";
import { errorResponses, headerReferences } from "./errors.ts";

/** What the interface calls the two formats. */
const tags: Readonly<Record<ErrorFormat, string>> = { openai: "Format A", anthropic: "Format B" };

export function buildPaths(): JsonObject {
  return Object.fromEntries(
    operations.map((operation) => [
      documentedPath(operation),
      { [operation.method.toLowerCase()]: describe(operation) },
    ]),
  );
}

function documentedPath({ path, description: { inPath } }: Operation): string {
  return inPath === undefined ? path : path.replace("*", `{${inPath}}`);
}

function describe(operation: Operation): JsonObject {
  const { errors, codes } = operation;
  const { operationId, summary, description, headers = [], inPath, request } = operation.description;
  const parameters = [...headers, ...(inPath === undefined ? [] : [inPath])];
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [tags[errors]],
    security: securityOf(operation),
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((name) => ({ $ref: `#/components/parameters/${name}` })) }),
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
