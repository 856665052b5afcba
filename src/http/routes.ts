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
  // An id may have slashes, as sent or percent-encoded.
  {
    method: "GET",
    path: "/v1/models/*",
    operation: "model",
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

/** What the dashboard's playground calls, at the address that its page came from. */
export const playgroundRoutes = routes.filter(({ operation }) => operation === "generate");

export const origins = ["", "/token"];

/** Whether a path belongs to the interface, or would if there were such a route. */
export function isOfInterface(path: string): boolean {
  return origins.some((origin) => path.startsWith(`${origin}/v1/`));
}

/** Whether a route has this path, with or without a slash at its end. */
export function isAt({ path: pattern }: Route, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  return path === pattern || path === `${pattern}/`;
}

/** The path of a route that a client with a wrong base URL has missed, without `/v1` or with two of them; else null. */
export function meantPath(path: string, served: readonly Route[]): string | null {
  const [, origin = "", rest = ""] = /^(\/token)?(?:\/v1)*(\/.*)$/.exec(path) ?? [];
  const meant = `${origin}/v1${rest}`;
  return served.some((route) => route.path === meant) ? meant : null;
}
