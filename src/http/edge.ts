import { Elysia } from "elysia";
import { assert } from "../base/assert.ts";
import { GatewayError } from "../base/errors.ts";
import type { JsonObject } from "../base/json.ts";
import { LoopPacer } from "../base/loop/pacer.ts";
import { once } from "../base/once.ts";
import { pathOf } from "../base/requests/request-path.ts";
import type { SwitchedRoutes } from "../base/requests/route-switches.ts";
import type { Settings } from "../config/settings.ts";
import { type Route, urlOf } from "../gateway/exchange/client-call.ts";
import type { Gateway } from "../gateway/exchange/gateway.ts";
import type { ServedRoute } from "../gateway/exchange/served-operation.ts";
import { routes } from "../gateway/operations.ts";
import { currentProxies, isTrusted } from "../limits/address.ts";
import type { Log } from "../observe/log.ts";
import { markCors, preflightResponse } from "./cors.ts";
import { landingPage } from "./landing.ts";
import {
  formatAt,
  formatOf,
  isAt,
  isOfInterface,
  meantPath,
  origins,
  plainDocument,
  plainError,
  plainJson,
} from "./plain.ts";
import { addressOn, HttpCall, lastIfDraining, peerOf, respond } from "./respond.ts";
import { UpgradeCall, webSocketOptions } from "./socket/upgrade.ts";
import { documentLimit, guardPatterns, hostProblem, targetProblem } from "./target.ts";

/** Adds the routes of a module, such as the admin API. */
export type RouteMount = (app: Elysia, connections: Connections) => void;

/** Information about a request's connection for mounted routes, and actions on it. */
interface Connections {
  /** Where a request comes from. */
  originOf(request: Request): RequestOrigin;
  /** Lets a request take longer than connections may be idle, up to the longest time that Bun allows. */
  keepWaiting(request: Request): void;
}

interface RequestOrigin {
  readonly address: string;
  /** Whether a trusted proxy sent it. */
  readonly isFromProxy: boolean;
}

/**
 * Bun would return an empty 413 for a larger body, without a request id or an envelope. The limit is enforced where
 * bodies are read (gateway/request/read-request.ts); an unread body is never kept in memory.
 */
const maxRequestBodySize = Number.MAX_SAFE_INTEGER;

/** Generation requests disable it for themselves, since a provider may take long to respond. The admin API extends it. */
const idleTimeoutSeconds = 30;

/**
 * One read of a connection may bring thousands of pipelined requests, which Bun would serve all in one iteration of the
 * event loop. Requests beyond this limit wait for the next iteration, and Bun closes a connection that pipelines while
 * a response waits. Starting a request takes a tenth of a millisecond, and nearly all of one before that code is
 * compiled.
 */
const requestsPerIteration = { free: 64, budgetMs: 8 };

const openApi = once(() => documentOf(({ buildOpenApi }) => buildOpenApi()));

type Documents = typeof import("./openapi/document.ts");

async function documentOf(build: (documents: Documents) => JsonObject): Promise<Blob> {
  const built = build(await import("./openapi/document.ts"));
  return new Blob([JSON.stringify(built)], { type: "application/json" });
}

/** Built once for each configuration: that takes 10 ms, and which routes are on may change. */
const extensions = new WeakMap<SwitchedRoutes, Promise<Blob>>();

function openApiExtensions({ routes: switched }: Settings): Promise<Blob> {
  return extensions.getOrInsertComputed(switched, () =>
    documentOf(({ buildOpenApiExtensions }) => buildOpenApiExtensions(switched)),
  );
}

/**
 * The HTTP side: every route in one list. It depends on paths and connections, and not on money or dialects. `listen`
 * registers the routes with Bun's router, which matches the target as it was sent. Every other target passes the guard
 * patterns on its way to Elysia's router, which handles wildcards and trailing slashes. If the admin side has its own
 * listener, its edge serves only those interface routes that the dashboard's playground calls.
 */
export function createEdge(
  gateway: Gateway,
  log: Log,
  mounted: readonly RouteMount[],
  servesInterface = true,
): Elysia {
  const side = sideOf(gateway, servesInterface);
  const { served, trusted } = side;
  const pacer = new LoopPacer(requestsPerIteration);
  const failed = (error: unknown, path: string) => {
    log.error({ err: error, path }, "a route failed");
    return plainError(path, new GatewayError("internal_error", "The gateway failed unexpectedly."));
  };

  const app: Elysia = new Elysia({
    // Elysia would otherwise expect a host of at least four characters.
    handler: { standardHostname: false },
    websocket: webSocketOptions(gateway.configured.settings.websocket),
    serve: {
      routes: guardPatterns(
        (request) => app.fetch(request),
        (request) => lastIfDraining(gateway, notFound(request, served())),
        pacer,
      ),
      error: (error) => failed(error, "unknown"),
      idleTimeout: idleTimeoutSeconds,
      maxRequestBodySize,
      development: false,
    },
  });
  app.onError(({ error, request }) => failed(error, pathOf(request)));
  pace(app, side, pacer);
  for (const route of side.routes) {
    app.route(route.method, route.path, ({ request }) => answer(app, side, request, route), {
      parse: "none",
    });
  }
  // For the routes below; those above do it themselves.
  app.onAfterHandle(({ response }) => {
    if (response instanceof Response) lastIfDraining(gateway, response);
  });
  if (servesInterface) addDocuments(app, gateway);
  app.get("/healthz", () => plainJson({ status: "ok" }));
  app.get("/readyz", () => readiness(gateway));
  const connections: Connections = {
    originOf: (request) => ({
      address: addressOn(app.server, request, trusted()),
      isFromProxy: isTrusted(peerOf(app.server, request), trusted()),
    }),
    // An operation can take hours, and ends when its client leaves.
    keepWaiting: (request) => app.server?.timeout(request, 0),
  };
  for (const mount of mounted) mount(app, connections);
  app.all("/*", ({ request }) => unrouted(request, side), { parse: "none" });
  return app;
}

/** The routes of one side, and its clients. */
interface Side {
  readonly gateway: Gateway;
  readonly routes: readonly ServedRoute[];
  /** The routes that are turned on now. */
  readonly served: () => readonly ServedRoute[];
  readonly trusted: ReturnType<typeof currentProxies>;
  /** The origins whose pages may call it from a browser (`server.cors_origins`); mostly none. */
  readonly corsOrigins: () => readonly string[];
}

function sideOf(gateway: Gateway, servesInterface: boolean): Side {
  const ownRoutes = servesInterface ? routes : routes.filter(({ dialect }) => dialect !== null);
  return {
    gateway,
    routes: ownRoutes,
    served: () =>
      ownRoutes.filter((route) => route.isUpgrade !== true && isOn(route, gateway.configured.settings)),
    trusted: currentProxies(() => gateway.configured.settings.server.trustedProxies),
    corsOrigins: () => (servesInterface ? gateway.configured.settings.server.corsOrigins : noOrigins),
  };
}

const noOrigins: readonly string[] = [];

/** Requests are paced, and those with a target or host that no route may see are rejected. */
function pace(app: Elysia, { gateway, trusted }: Side, pacer: LoopPacer): void {
  /** Requests that have already waited once. */
  const waited = new WeakSet<Request>();
  const documentRejection = documentLimit(gateway.clock, (request) =>
    addressOn(app.server, request, trusted()),
  );
  app.onBeforeHandle(({ request, params, route }) => {
    if (!pacer.take() && !waited.delete(request)) {
      waited.add(request);
      return pacer.wait().then(() => app.fetch(request));
    }
    // Undefined for routes without parameters. Asking Bun for its `params` would take 0.7 µs there.
    const problem =
      (params === undefined ? hostProblem(request) : targetProblem(request)) ??
      documentRejection(route, request);
    return problem === null ? undefined : plainError(pathOf(request), problem);
  });
}

function answer({ server }: Elysia, side: Side, request: Request, usual: ServedRoute) {
  const { gateway, served, trusted } = side;
  const corsOrigins = side.corsOrigins();
  const isCrossOrigin = corsOrigins.length > 0;
  const route = inFormatOf(request, usual, gateway);
  assert(server, "a request came before the server was there");
  const isSocket = route.isUpgrade === true;
  if (isSocket && !asksForWebSocket(request)) return unrouted(request, side);
  if (!isOn(route, gateway.configured.settings)) {
    // Another method may have a route with this path.
    if (isSocket || route.errors.served !== undefined) return unrouted(request, side);
    const response = notFound(request, served());
    return isCrossOrigin ? markCors(corsOrigins, request, response) : response;
  }
  const call = isSocket
    ? new UpgradeCall(gateway, request, route, server, trusted)
    : new HttpCall(request, route, server, trusted);
  const responding = respond(gateway, call, route);
  if (!isCrossOrigin) return responding;
  return responding.then((response) => markCors(corsOrigins, request, response));
}

/** Routes beyond the interface can be turned off, and then are as if there were none. */
export function isOn({ switchedBy }: Route, { routes }: Settings): boolean {
  return switchedBy === undefined || routes[switchedBy];
}

function inFormatOf(request: Request, route: ServedRoute, { configured }: Gateway): ServedRoute {
  const { otherFormat: other } = route;
  if (other === undefined || !isOn(other, configured.settings)) return route;
  const { keyParameter } = other;
  const isShown = formatOf(request.headers) === other.errors;
  const hasKey = keyParameter !== undefined && urlOf({ request }).searchParams.has(keyParameter);
  return isShown || hasKey ? other : route;
}

function addDocuments(app: Elysia, gateway: Gateway): void {
  app.get("/", () => landingPage(gateway.configured.settings.admin.listen === null));
  // Claude Code opens its connection with a HEAD request to this path, on its configured origin.
  for (const origin of origins) app.get(`${origin}/api/hello`, () => plainJson({ message: "hello" }));
  app.get("/openapi.json", async () => plainDocument(await openApi()));
  app.get("/openapi-extensions.json", async () =>
    plainDocument(await openApiExtensions(gateway.configured.settings)),
  );
}

/** Requests that match no route. Allowed origins can read these errors, too. */
function unrouted(request: Request, side: Side): Response {
  const served = side.served();
  const corsOrigins = side.corsOrigins();
  const path = pathOf(request);
  const at = served.filter((it) => isAt(it, path));
  const methods = at.map(({ method }) => method).join(", ");
  const isCrossOrigin = corsOrigins.length > 0 && (at.length > 0 || isOfInterface(path));
  const preflight = isCrossOrigin ? preflightResponse(corsOrigins, request, methods || "GET, POST") : null;
  if (preflight !== null) return preflight;
  // Below a path with a wildcard is what another API has under its own methods.
  const isUnknown = at.every(({ errors }) => errors.served !== undefined);
  const response = isUnknown ? notFound(request, served) : wrongMethod(request, at, methods);
  return isCrossOrigin ? markCors(corsOrigins, request, response) : response;
}

function readiness(gateway: Gateway): Response {
  const reason = gateway.ongoing.isDraining ? "The gateway is shutting down." : gateway.storeProblem();
  return reason === null
    ? plainJson({ status: "ready" }, 200)
    : plainJson({ status: "not ready", reason }, 503);
}

/** The response if a route has this path, but for another method. */
function wrongMethod(request: Request, at: readonly Route[], methods: string): Response {
  const path = pathOf(request);
  const isTriedByWebSocket = at.some((route) => route.isTriedByWebSocket === true);
  if (isTriedByWebSocket && asksForWebSocket(request)) return noWebSocket(path);
  const message = `${request.method} is not allowed here. Use ${methods.replaceAll(", ", " or ")}.`;
  return plainError(path, new GatewayError("method_not_allowed", message), { allow: methods });
}

function notFound(request: Request, served: readonly Route[]): Response {
  const path = pathOf(request);
  const meant = meantPath(path, served);
  const format = formatAt(path, request.headers, served);
  const hint =
    meant === null
      ? ` ${format.served ?? ""}`.trimEnd()
      : ` Did you mean ${meant}? OpenAI clients need a base URL that ends in /v1; Anthropic and Google clients use it without /v1.`;
  const message = `Unknown path ${request.method} ${path.slice(0, 200)}.${hint}`;
  return plainError(path, new GatewayError("not_found", message), {}, format);
}

function asksForWebSocket(request: Request): boolean {
  return request.method === "GET" && /\bwebsocket\b/i.test(request.headers.get("upgrade") ?? "");
}

/** `routes.websocket = false`. On 426 Codex switches to HTTP at once; any other error is retried five times. */
function noWebSocket(path: string): Response {
  const message =
    "WebSockets are turned off on this gateway. Send the request as POST, and stream server-sent events.";
  return plainError(path, new GatewayError("upgrade_required", message), { upgrade: "HTTP/1.1" });
}
