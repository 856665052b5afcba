import type { Elysia } from "elysia";
import { adminRoutes, memberRoutes } from "../../src/admin/api/admin.ts";
import type { Gateway } from "../../src/gateway/exchange/gateway.ts";
import { mountPages } from "../../src/http/dashboard.ts";
import { createEdge, type RouteMount } from "../../src/http/edge.ts";
import type { Log } from "../../src/observe/log.ts";

/** What the public listener serves in addition to the interface if the admin API has its own listener. */
export const mountedForHolders: readonly RouteMount[] = [
  memberRoutes({} as Parameters<typeof memberRoutes>[0]),
  (app) => mountPages(app, "/usage"),
];

export const mountedForAll: readonly RouteMount[] = [
  adminRoutes({} as Parameters<typeof adminRoutes>[0]),
  (app) => mountPages(app, "/admin"),
  ...mountedForHolders,
];

/** For its list of routes. Nothing is ever asked of this one, so its rooms may be empty. */
export function edgeWith(mounted: readonly RouteMount[], log: Partial<Log> = {}): Elysia {
  const settings = { server: { trustedProxies: [] }, websocket: { maxMessageBytes: 1 } };
  const gateway = { configured: { settings } } as unknown as Gateway;
  return createEdge(gateway, log as Log, mounted);
}
