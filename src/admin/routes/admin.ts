import type { Elysia } from "elysia";
import type { AdminDeps } from "../deps.ts";
import { keyRoutes } from "./keys.ts";
import { mountMetrics } from "./metrics.ts";
import { mountRoute } from "./mount.ts";
import { adminOpenApi } from "./openapi.ts";
import { AdminError, json, refusalResponse } from "./refusal.ts";
import { reportRoutes } from "./reports.ts";
import { mountSession } from "./session.ts";
import { systemRoutes } from "./system.ts";

export const adminBase = "/admin/api/v1";

/** The admin API whole, as the edge mounts it. Whatever is not in the list is not there. */
export function adminRoutes(deps: AdminDeps): (app: Elysia) => Elysia {
  const routes = [...keyRoutes, ...reportRoutes(deps), ...systemRoutes];
  return (app) => {
    for (const route of routes) mountRoute(app, adminBase, deps, route);
    mountSession(app, adminBase, deps);
    mountMetrics(app, deps);
    app.get(`${adminBase}/openapi.json`, () => json(adminOpenApi(adminBase, routes, deps.version)));
    app.all(
      `${adminBase}/*`,
      () => refusalResponse(new AdminError(404, "not_found", "There is no such place in the admin API.")),
      { parse: "none" },
    );
    return app;
  };
}
