import { type ClientDialectName, clientDialect, clientDialectNames } from "../dialects/registry.ts";
import type { Endpoint, Route } from "../gateway/client-call.ts";

function generation(dialect: ClientDialectName): Endpoint {
  const { route, errorFormat } = clientDialect(dialect);
  return { method: "POST", ...route, operation: "generate", dialect, errors: errorFormat };
}

/** The interface's endpoints (interface, 4). */
const endpoints: readonly Endpoint[] = [
  {
    method: "GET",
    path: "/v1/models",
    operation: "models",
    errors: "openai",
    acceptsApiKeyHeader: true,
  },
  ...clientDialectNames.map(generation),
  {
    method: "POST",
    path: "/v1/messages/count_tokens",
    operation: "count_tokens",
    errors: "anthropic",
    acceptsApiKeyHeader: true,
  },
  {
    method: "GET",
    path: "/v1/usage",
    operation: "usage",
    errors: "openai",
    acceptsApiKeyHeader: false,
  },
];

/** Every endpoint on both origins: credit keys use the root, token-budget keys `/token`. */
export const routes: readonly Route[] = endpoints.flatMap((endpoint): Route[] => [
  { ...endpoint, mode: "credit" },
  { ...endpoint, mode: "token_budget", path: `/token${endpoint.path}` },
]);
