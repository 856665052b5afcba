import { Elysia } from "elysia";
import { newId } from "../../base/id.ts";
import { once } from "../../base/once.ts";
import { admit } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";
import { metricsResponse } from "../metrics-response.ts";
import { accountRoutes } from "./accounts.ts";
import { keyRoutes } from "./keys.ts";
import { modelRoutes } from "./models.ts";
import { mountRoute } from "./mount.ts";
import { adminOpenApi } from "./openapi.ts";
import { AdminError, accessError, answerHeaders, refusalResponse } from "./refusal.ts";
import { reportRoutes } from "./reports.ts";
import { mountSession } from "./session.ts";
import { systemRoutes } from "./system.ts";

export const adminBase = "/admin/api/v1";

/** Called by the edge, which knows the address a request comes from. */
export type AdminMount = (addressOf: AdminDeps["addressOf"]) => Elysia;

/** The whole admin API, and `/metrics`. */
export function adminRoutes(withoutAddress: Omit<AdminDeps, "addressOf">): AdminMount {
  return (addressOf) => {
    const app = new Elysia();
    const deps = { ...withoutAddress, addressOf };
    const routes = [...keyRoutes, ...accountRoutes, ...modelRoutes, ...reportRoutes(deps), ...systemRoutes];
    for (const route of routes) mountRoute(app, adminBase, deps, route);
    mountSession(app, adminBase, deps);
    mountMetrics(app, deps);
    const document = once(() => jsonBlob(adminOpenApi(adminBase, routes, deps.version)));
    app.get(`${adminBase}/openapi.json`, () => new Response(document(), { headers: documentHeaders() }));
    app.all(
      `${adminBase}/*`,
      () => refusalResponse(new AdminError(404, "not_found", "There is no such place in the admin API.")),
      { parse: "none" },
    );
    return app;
  };
}

function jsonBlob(document: object): Blob {
  return new Blob([JSON.stringify(document)], { type: "application/json" });
}

function documentHeaders(): Record<string, string> {
  return { ...answerHeaders, "x-request-id": newId("req_") };
}

/** Prometheus metrics at `/metrics`, with the admin token. */
function mountMetrics(app: Elysia, deps: AdminDeps): void {
  app.get("/metrics", async ({ request }) => {
    const verdict = await admit(deps.guard, request, deps.addressOf(request), false);
    if (verdict.kind === "admitted") return metricsResponse(deps);
    return refusalResponse(await accessError(deps.guard.lockout, verdict));
  });
}
