import type { TObject, TSchema } from "@sinclair/typebox";
import { errorView } from "../views/system.ts";
import type { AdminRoute } from "./route.ts";

/** The admin API's OpenAPI document, built from the schemas that validate requests. */
export function adminOpenApi(base: string, routes: readonly AdminRoute[], version: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    const path = base + route.path.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice admin API",
      version,
      description: "For operators and their tools. Send the admin token as a bearer.",
    },
    security: [{ admin: [] }],
    components: { securitySchemes: { admin: { type: "http", scheme: "bearer" } } },
    paths,
  };
}

function operation(route: AdminRoute): object {
  const body = route.method === "GET" ? undefined : route.body;
  return {
    summary: route.summary,
    operationId: `${route.method.toLowerCase()}${route.path.replaceAll(/[/:]+(\w)/g, (_, letter) => letter.toUpperCase())}`,
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: {
      200: { description: "Done.", content: jsonContent(route.answers) },
      default: { description: "RefusedAccess.", content: jsonContent(errorView) },
    },
  };
}

function pathParameters(path: string): object[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters(query: TObject | undefined): object[] {
  return Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema,
  }));
}

function jsonContent(schema: TSchema): object {
  return { "application/json": { schema } };
}
