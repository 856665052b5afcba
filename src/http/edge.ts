import type { Server } from "bun";
import { Elysia } from "elysia";
import { GatewayError } from "../base/errors.ts";
import type { Route } from "../gateway/exchange.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { currentProxies } from "../limits/address.ts";
import type { Log } from "../observe/log.ts";
import { addressOn, HttpCall } from "./call.ts";
import { landingPage } from "./landing.ts";
import { pathOf, routable } from "./path.ts";
import { plainError, plainJson } from "./plain.ts";
import { respond } from "./respond.ts";
import { routes } from "./routes.ts";
import { guardedRoutes, type Handler, refuseHost } from "./target.ts";
import { asksForWebSocket, noWebSocket } from "./web-socket.ts";

export interface Edge {
  /**
   * Every path there is, for the server's own router: the interface's by path and method, and patterns that lead
   * everything else to Elysia.
   */
  readonly routes: Readonly<Record<string, Handler | Readonly<Record<string, Handler>>>>;
  /** What a client is told when all else has failed. */
  readonly error: (error: Error) => Response;
}

/** A room that brings routes of its own, such as the admin API. */
export type Mounted = (app: Elysia, addressOf: (request: Request) => string) => Elysia;

/**
 * The HTTP side: every route in one list. It knows paths and connections, and nothing of money or dialects. The
 * interface's routes are found by the server's own router, which needs no string of the address and no context for
 * each request. What it does not take, such as another method or a slash at the end, goes to Elysia. Where the admin
 * side has a listener of its own, that one's edge serves no interface.
 */
export function createEdge(
  gateway: Gateway,
  log: Log,
  mounted: readonly Mounted[],
  servesInterface = true,
): Edge {
  const trusted = currentProxies(() => gateway.configured.settings.server.trustedProxies);
  /** The request as it came in, where the router was given a copy: only the original knows its connection. */
  const originals = new WeakMap<Request, Request>();
  let server: Server<undefined> | null = null;

  const app = new Elysia({ precompile: true });
  const offered: Record<string, Record<string, Handler>> = {};
  for (const route of servesInterface ? routes : []) {
    const handle: Handler = (request, onServer) =>
      refuseHost(request, route.path) ?? respond(gateway, new HttpCall(request, route, onServer, trusted()));
    offered[route.path] = { [route.method]: handle };
    app.route(
      route.method,
      route.path,
      ({ request }) => {
        if (server === null) throw new Error("a request came before the server was there");
        return handle(originals.get(request) ?? request, server);
      },
      { parse: "none" },
    );
    app.all(route.path, ({ request }) => wrongMethod(request, route), { parse: "none" });
  }
  if (servesInterface) {
    app.get("/", () => landingPage(mounted.length > 0));
    app.get("/openapi.json", async () => plainJson((await import("./openapi/document.ts")).buildOpenApi()));
  }
  app.get("/healthz", () => plainJson({ status: "ok" }));
  app.get("/readyz", () => readiness(gateway));
  const addressOf = (request: Request) => addressOn(server, originals.get(request) ?? request, trusted());
  for (const mount of mounted) mount(app as unknown as Elysia, addressOf);
  app.all("/*", ({ request }) => notFound(request), { parse: "none" });
  const failed = (error: unknown, path: string) => {
    log.error({ err: error, path }, "a route failed");
    return plainError(path, new GatewayError("internal_error", "The gateway failed unexpectedly."));
  };
  app.onError(({ error, request }) => failed(error, pathOf(request)));

  const anyOther: Handler = (request, onServer) => {
    server = onServer;
    const routed = routable(request);
    if (routed !== request) originals.set(routed, request);
    return app.fetch(routed);
  };
  return {
    routes: { ...guardedRoutes(anyOther, notFound), ...offered },
    error: (error) => failed(error, "unknown"),
  };
}

function readiness(gateway: Gateway): Response {
  const reason = gateway.ongoing.isDraining ? "The gateway is shutting down." : gateway.storeTrouble();
  return reason === null
    ? plainJson({ status: "ready" }, 200)
    : plainJson({ status: "not ready", reason }, 503);
}

function wrongMethod(request: Request, route: Route): Response {
  const allowed = route.method;
  const hasWebSocket = route.operation === "generate" && route.dialect === "responses";
  if (hasWebSocket && asksForWebSocket(request)) return noWebSocket(pathOf(request));
  const message = `${request.method} is not allowed here; use ${allowed}.`;
  return plainError(pathOf(request), new GatewayError("method_not_allowed", message), { allow: allowed });
}

function notFound(request: Request): Response {
  const message = `There is nothing at ${request.method} ${pathOf(request).slice(0, 200)}.`;
  return plainError(pathOf(request), new GatewayError("not_found", message));
}
