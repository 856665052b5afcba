import type { JsonObject } from "../../base/json.ts";
import type { Operation } from "../../gateway/client-call.ts";
import { operations } from "../../gateway/operations.ts";
import { buildComponents } from "./components.ts";
import { buildPaths } from "./operations.ts";

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

/** The same of the routes beyond it, for `/openapi-extensions.json`. */
export function buildOpenApiExtensions(): JsonObject {
  const beyond = operations.filter(({ switchedBy }) => switchedBy !== undefined);
  return document(
    "What Sluice serves beyond its interface. An operator may have turned any of it off.",
    beyond,
  );
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
