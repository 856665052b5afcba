import type { Route } from "../gateway/client-call.ts";
import { operations } from "../gateway/operations.ts";
import type { ServedOperation } from "../gateway/served-operation.ts";

export type ServedRoute = Route & ServedOperation;

/** Every operation on both origins: credit keys use the root, token-budget keys `/token`. */
export const routes: readonly ServedRoute[] = operations.flatMap((operation): ServedRoute[] => [
  { ...operation, mode: "credit" },
  { ...operation, mode: "token_budget", path: `/token${operation.path}` },
]);

/** What the dashboard's playground calls, at the address that its page came from. */
export const playgroundRoutes = routes.filter(({ dialect }) => dialect !== null);

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
