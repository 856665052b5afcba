import type { TObject, TSchema } from "@sinclair/typebox";
import { endedSessionView, sessionView, signInBody } from "../auth/schema.ts";
import { errorView } from "../formats/shapes.ts";
import { type AdminRoute, roleFor } from "../routes/route.ts";

interface ServedRoutes {
  readonly base: string;
  readonly routes: readonly AdminRoute[];
}

/** The admin API's OpenAPI document, built from the schemas that validate requests. */
export function adminOpenApi(served: readonly ServedRoutes[], version: string) {
  const paths: Record<string, Record<string, object>> = { ...openPaths };
  for (const { base, routes } of served) {
    for (const route of routes) {
      const path = base + route.path.replaceAll(/:(\w+)/g, "{$1}");
      paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(base, route) };
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Sluice admin API",
      version,
      description:
        "For operators, their tools, and members. Send an admin token as a bearer token, or an API key below /usage/api/v1. " +
        "`x-role` is the minimum role for an operation.",
    },
    security: [{ admin: [] }],
    components: { securitySchemes: { admin: { type: "http", scheme: "bearer" } } },
    paths,
  };
}

/** Routes without authentication: those used to sign in, and the metrics, which are text. */
const openPaths: Record<string, Record<string, object>> = {
  "/admin/api/v1/session": {
    get: open("Who is signed in", { 200: { description: "Done.", content: jsonContent(sessionView) } }),
    post: {
      ...open("Sign in with a token", { 204: { description: "The session is in a cookie." } }),
      requestBody: { required: true, content: jsonContent(signInBody) },
    },
    delete: open("Sign out", {
      200: { description: "The session has ended.", content: jsonContent(endedSessionView) },
    }),
  },
  "/admin/api/v1/openapi.json": { get: open("This document", { 200: { description: "Done." } }) },
  "/admin/oidc/login": {
    get: open("Sign in with OpenID Connect", { 302: { description: "Redirects to the identity provider." } }),
  },
  "/admin/oidc/callback": {
    get: open("Callback of the identity provider", {
      302: { description: "Redirects to the requested page." },
    }),
  },
  "/metrics": {
    get: {
      summary: "Prometheus metrics",
      "x-role": "viewer",
      responses: { 200: { description: "Done.", content: { "text/plain": {} } } },
    },
  },
};

function open(summary: string, responses: object): object {
  return { summary, security: [], responses };
}

function operation(base: string, route: AdminRoute): object {
  const body = route.method === "GET" ? undefined : route.body;
  return {
    summary: route.summary,
    "x-role": roleFor(route),
    operationId: `${base.startsWith("/usage") ? "own" : ""}${route.method.toLowerCase()}${route.path.replaceAll(/[/:]+(\w)/g, (_, letter) => letter.toUpperCase())}`,
    parameters: [...pathParameters(route.path), ...queryParameters(route.query)],
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: {
      200: { description: "Done.", content: jsonContent(route.answers) },
      default: { description: "Error.", content: jsonContent(errorView) },
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
