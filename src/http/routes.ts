import type { Route } from "../gateway/exchange.ts";

type Endpoint = Pick<Route, "method" | "path" | "operation" | "errors" | "acceptsApiKeyHeader">;

/** Section 4 of the interface in one list. */
const endpoints: readonly Endpoint[] = [
  { method: "GET", path: "/v1/models", operation: "models", errors: "openai", acceptsApiKeyHeader: true },
  {
    method: "POST",
    path: "/v1/chat/completions",
    operation: "chat",
    errors: "openai",
    acceptsApiKeyHeader: false,
  },
  {
    method: "POST",
    path: "/v1/responses",
    operation: "responses",
    errors: "openai",
    acceptsApiKeyHeader: false,
  },
  {
    method: "POST",
    path: "/v1/messages",
    operation: "messages",
    errors: "anthropic",
    acceptsApiKeyHeader: true,
  },
  {
    method: "POST",
    path: "/v1/messages/count_tokens",
    operation: "count_tokens",
    errors: "anthropic",
    acceptsApiKeyHeader: true,
  },
  { method: "GET", path: "/v1/usage", operation: "usage", errors: "openai", acceptsApiKeyHeader: false },
];

/** Every endpoint on both origins: credit keys live at the root, token-budget keys under `/token`. */
export const routes: readonly Route[] = endpoints.flatMap((endpoint): Route[] => [
  { ...endpoint, mode: "credit" },
  { ...endpoint, mode: "token_budget", path: `/token${endpoint.path}` },
]);
