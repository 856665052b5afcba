import type { Server } from "bun";
import { Elysia } from "elysia";
import { GatewayError } from "../base/errors.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { trustedProxies } from "../limits/address.ts";
import type { Log } from "../observe/log.ts";
import { addressOn, HttpCall } from "./call.ts";
import { landingPage } from "./landing.ts";
import { pathOf, routable } from "./path.ts";
import { plainError, plainJson } from "./plain.ts";
import { respond } from "./respond.ts";
import { routes } from "./routes.ts";

export interface Edge {
  fetch(request: Request, server: Server<undefined>): Promise<Response> | Response;
}

/** A room that brings routes of its own, such as the admin API. */
export type Mounted = (app: Elysia, addressOf: (request: Request) => string) => Elysia;

/** The HTTP side: every route in one list. It knows paths and connections, and nothing of money or dialects. */
export function createEdge(gateway: Gateway, log: Log, mounted: readonly Mounted[]): Edge {
  const trusted = trustedProxies(gateway.configured.settings.server.trustedProxies);
  /** The request as it came in, where the router was given a copy: only the original knows its connection. */
  const originals = new WeakMap<Request, Request>();
  let server: Server<undefined> | null = null;

  const app = new Elysia({ precompile: true });
  for (const route of routes) {
    app.route(
      route.method,
      route.path,
      ({ request }) => {
        if (server === null) throw new Error("a request came before the server was there");
        return respond(gateway, new HttpCall(originals.get(request) ?? request, route, server, trusted));
      },
      { parse: "none" },
    );
    app.all(route.path, ({ request }) => wrongMethod(request, route.method), { parse: "none" });
  }
  app.get("/", landingPage);
  app.get("/healthz", () => plainJson({ status: "ok" }));
  app.get("/readyz", () => readiness(gateway));
  app.get("/openapi.json", async () => plainJson((await import("./openapi/document.ts")).buildOpenApi()));
  const addressOf = (request: Request) => addressOn(server, originals.get(request) ?? request, trusted);
  for (const mount of mounted) mount(app as unknown as Elysia, addressOf);
  app.all("/*", ({ request }) => notFound(request), { parse: "none" });
  app.onError(({ error, request }) => {
    log.error({ err: error, path: pathOf(request) }, "a route failed");
    return plainError(
      pathOf(request),
      new GatewayError("internal_error", "The gateway failed unexpectedly."),
    );
  });

  return {
    fetch: (request, onServer) => {
      server = onServer;
      const routed = routable(request);
      if (routed !== request) originals.set(routed, request);
      return app.fetch(routed);
    },
  };
}

function readiness(gateway: Gateway): Response {
  const isReady = !gateway.ongoing.isDraining && gateway.isStoreHealthy();
  return plainJson({ status: isReady ? "ready" : "not ready" }, isReady ? 200 : 503);
}

function wrongMethod(request: Request, allowed: string): Response {
  const message = `${request.method} is not allowed here; use ${allowed}.`;
  return plainError(pathOf(request), new GatewayError("method_not_allowed", message), { allow: allowed });
}

function notFound(request: Request): Response {
  const message = `There is nothing at ${request.method} ${pathOf(request).slice(0, 200)}.`;
  return plainError(pathOf(request), new GatewayError("not_found", message));
}
