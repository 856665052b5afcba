import type { Elysia } from "elysia";
import { mapInTurns } from "../../base/loop/in-turns.ts";
import { once } from "../../base/once.ts";
import { adminBase, memberBase } from "../../base/requests/admin-base.ts";
import { pathOf } from "../../base/requests/request-path.ts";
import { withEllipsis } from "../../base/text/ellipsis.ts";
import { sentence } from "../../base/text/sentence.ts";
import { accessError } from "../access/access-error.ts";
import { admit } from "../access/guard.ts";
import { mountDeviceFlow } from "../auth/device/device-flow.ts";
import { deviceRoutes } from "../auth/device/routes.ts";
import { mountBackchannelLogout } from "../auth/oidc/backchannel-logout.ts";
import { mountOidc } from "../auth/oidc/routes.ts";
import { mountMemberSession, mountSession } from "../auth/session-routes.ts";
import { mountAgentRoutes } from "../auth/sign-ins/agent-routes.ts";
import type { AdminDeps, Connections, UnmountedDeps } from "../deps.ts";
import { AdminError, answerHeaders, refusalResponse } from "../formats/admin-error.ts";
import { keysOnlyRead, mountRoute } from "../routes/mount.ts";
import { type AdminRoute, isForMembers, roleFor } from "../routes/route.ts";
import { metricsResponse } from "../system/metrics-response.ts";
import { adminOpenApi } from "./openapi.ts";
import { operationsOf } from "./operations.ts";

/** The base path of the self-service page: for members who signed in, and for those who present a key instead. */

/** Adds routes. Called by the HTTP server, which knows where a request comes from. */
export type AdminMount = (app: Elysia, connections: Connections) => void;

/** Routes for members, wherever they come from: their own data, their sign-in, and `sluice login`. */
export function memberRoutes(unmounted: UnmountedDeps): AdminMount {
  return (app, connections) => {
    const deps = { ...unmounted, ...connections };
    for (const route of operationsOf(deps)) {
      if (!isForMembers(route)) continue;
      mountRoute(app, memberBase, deps, route, isReadWithKey(route) ? "own" : "own-sign-in");
    }
    mountMemberSession(app, memberBase, deps);
    mountOidc(app, deps);
    mountDeviceFlow(app, deps);
    mountAgentRoutes(app, deps);
    app.all(
      `${memberBase}/*`,
      ({ request }) => refusalResponse(request.method === "GET" ? unknownPath(request) : keysOnlyRead),
      { parse: "none" },
    );
  };
}

export function adminRoutes(unmounted: UnmountedDeps): AdminMount {
  return (app, connections) => {
    const deps = { ...unmounted, ...connections };
    const routes = operationsOf(deps);
    for (const route of routes) mountRoute(app, adminBase, deps, route);
    mountSession(app, adminBase, deps);
    mountBackchannelLogout(app, deps);
    mountMetrics(app, deps);
    const served = [
      { base: adminBase, routes },
      { base: memberBase, routes: routes.filter(isReadWithKey) },
    ];
    const type = "application/json";
    const document = once(async () => {
      const { paths, ...rest } = adminOpenApi(served, deps.version);
      const parts = await mapInTurns(Object.entries(paths), ([path, item]) =>
        JSON.stringify({ [path]: item }).slice(1, -1),
      );
      return new Blob([JSON.stringify(rest).slice(0, -1), ',"paths":{', parts.join(","), "}}"], { type });
    });
    app.get(
      `${adminBase}/openapi.json`,
      async () => new Response(await document(), { headers: answerHeaders() }),
    );
    app.all(`${adminBase}/*`, ({ request }) => refusalResponse(unknownPath(request)), {
      parse: "none",
    });
  };
}

const maxShownLength = 100;

function unknownPath(request: Request): AdminError {
  const { method } = request;
  // Not parsed as a URL, because the Host may be invalid.
  const path = pathOf(request);
  const message = `Unknown path ${method} ${withEllipsis(path, maxShownLength)}; ${adminBase}/openapi.json lists them`;
  return new AdminError(404, "not_found", sentence(message));
}

/** A key can read its own data, but it cannot change anything, and does not represent the person who owns it. */
function isReadWithKey(route: AdminRoute): boolean {
  return roleFor(route) === "member" && route.method === "GET" && !deviceRoutes.includes(route);
}

function mountMetrics(app: Elysia, deps: AdminDeps): void {
  app.get("/metrics", async ({ request }) => {
    const verdict = await admit(deps.guard, request, deps.originOf(request), "viewer", false);
    if (verdict.kind === "admitted") return metricsResponse(deps);
    return refusalResponse(await accessError(deps.guard.lockout, verdict));
  });
}
