import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { modeOrigins } from "../base/key-attributes.ts";
import type { Settings } from "../config/settings.ts";
import type { Route } from "../gateway/exchange/client-call.ts";
import { AddressLimiter } from "../limits/address-limiter.ts";

export const origins: readonly string[] = Object.values(modeOrigins);

/** Whether a path belongs to the interface, or would if there were such a route. */
export function isOfInterface(path: string): boolean {
  return origins.some((origin) => path.startsWith(`${origin}/v1/`));
}

/** Whether a route has this path, with or without a slash at its end. */
export function isAt({ path: pattern }: Route, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  if (!pattern.includes("/:")) return path === pattern || path === `${pattern}/`;
  const segments = path.replace(/\/$/, "").split("/");
  const patternParts = pattern.split("/");
  return (
    patternParts.length === segments.length &&
    patternParts.every((name, index) =>
      name.startsWith(":") ? segments[index] !== "" : segments[index] === name,
    )
  );
}

/** Routes beyond the interface can be turned off, and then are as if there were none. */
export function isOn({ switchedBy }: Route, { routes }: Settings): boolean {
  return switchedBy === undefined || routes[switchedBy];
}

/** The path of the intended route if a client has a wrong base URL, without `/v1` or with two of them; else null. */
export function meantPath(path: string, served: readonly Route[]): string | null {
  const [, origin = "", rest = ""] = /^(\/token)?(?:\/v1)*(\/.*)$/.exec(path) ?? [];
  const meant = `${origin}/v1${rest}`;
  return served.some((route) => route.path === meant) ? meant : null;
}

/** The routes of documents that need no credential: pages, their files, descriptions of the APIs, the way to sign in. */
const documents: ReadonlySet<string> = new Set([
  "/",
  "/openapi.json",
  "/openapi-extensions.json",
  "/admin",
  "/admin/*",
  "/admin/api/v1/openapi.json",
  "/admin/oidc/login",
  "/admin/oidc/callback",
  "/usage",
  "/usage/*",
]);

/** Plenty for browsers and tools that share an address, and cheap enough to serve. */
const perMinute = 300;

/**
 * Limits reads of documents by address. They have a separate limit, so that guessed keys do not lock an operator out of
 * the dashboard. Probes (`/healthz`, `/readyz`) have none: rejecting one would cost as much as serving it, and would
 * take a working gateway out of service.
 */
export function documentLimit(clock: Clock, addressOf: (request: Request) => string) {
  const addresses = new AddressLimiter(clock, perMinute);
  /** Why a request to this route is rejected; null if it is allowed. */
  return (route: string, request: Request): GatewayError | null => {
    if (!documents.has(route)) return null;
    const { allowed, retryAfterSeconds } = addresses.take(addressOf(request));
    if (allowed) return null;
    const message = `This address can load at most ${perMinute} documents per minute. Wait, then retry.`;
    return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds });
  };
}
