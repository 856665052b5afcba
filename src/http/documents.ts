import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import { AddressLimiter } from "../limits/address-limiter.ts";

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
 * Bounds by address how many documents are read. They have a limit of their own, so that guessed keys do not lock
 * an operator out of the dashboard. Probes (`/healthz`, `/readyz`) have none: a refusal would cost as much as the
 * answer, and would take a working gateway out of service.
 */
export function documentLimit(clock: Clock, addressOf: (request: Request) => string) {
  const addresses = new AddressLimiter(clock, perMinute);
  /** Why a request of this route is refused; null if it is not. */
  return (route: string, request: Request): GatewayError | null => {
    if (!documents.has(route)) return null;
    const { allowed, retryAfterSeconds } = addresses.take(addressOf(request));
    if (allowed) return null;
    const message = `At most ${perMinute} documents a minute are sent to one address; wait and try again.`;
    return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds });
  };
}
