import type { Clock } from "../base/clock.ts";
import { GatewayError } from "../base/errors.ts";
import type { LoopPacer } from "../base/loop/pacer.ts";
import { isPlainSegment } from "../base/requests/request-path.ts";
import { AddressLimiter } from "../limits/address.ts";
import { formatAt, plainError } from "./plain.ts";

type Handler = (request: Request) => Promise<Response> | Response;

/** A request as Bun's router hands it over, with the decoded segments that its pattern names. */
type RoutedRequest = Request & { readonly params?: Readonly<Record<string, string>> };

/** No route is deeper than this. */
const maxSegments = 12;

/**
 * Patterns for Bun's router that match every path which no route has by name, and reject odd targets before they reach
 * Elysia's router.
 *
 * `Request.url` is normalized: backslashes have become slashes, and `..` is resolved. A proxy in front may do neither,
 * and would forward a path that its rules forbid (`/v1/..\admin`). Bun's router matches the target as it was sent, so
 * these patterns make it split the path into segments. A path that it cannot split (`//`, or too many segments) is never
 * routed.
 */
export function guardPatterns(route: Handler, notFound: Handler, pacer: LoopPacer): Record<string, Handler> {
  const guard = guarded(route, pacer);
  const patterns: Record<string, Handler> = { "/*": guarded(notFound, pacer) };
  let pattern = "";
  for (let index = 0; index < maxSegments; index += 1) {
    pattern += `/:s${index}`;
    patterns[pattern] = guard;
    // Elysia strips one slash from the end of each pattern, and this one has to match `/a/b/`.
    patterns[`${pattern}//`] = guard;
  }
  return patterns;
}

function guarded(handle: Handler, pacer: LoopPacer): Handler {
  const answer: Handler = (request) => {
    const problem = targetProblem(request);
    if (problem !== null) {
      const path = `/${segmentsOf(request).join("/")}`;
      return plainError(path, problem, {}, formatAt(path, request.headers));
    }
    makeUrlAbsolute(request);
    return handle(request);
  };
  return (request) => (pacer.take() ? answer(request) : pacer.wait().then(() => answer(request)));
}

/** The problem with the segments from Bun's router or with the Host; null if there is none. */
export function targetProblem(request: Request): GatewayError | null {
  if (!unescapedIds(segmentsOf(request)).every(isPlainSegment)) {
    return new GatewayError(
      "invalid_request",
      "The path has a dot segment, a backslash, a control character or an encoded separator. Send it in plain form.",
    );
  }
  return hostProblem(request);
}

/** Two `Host` lines arrive joined by a comma. Programs disagree on which of them counts, so both are rejected. */
export function hostProblem(request: Request): GatewayError | null {
  const host = request.headers.get("host");
  if (host === null || hostForm.test(host)) return null;
  return new GatewayError("invalid_request", "The Host header must name one host, once.");
}

function segmentsOf({ params = {} }: RoutedRequest): readonly string[] {
  return Object.values(params);
}

/** SDKs encode the slashes of an id (`/v1/models/meta%2Fllama`), so those below the models are cut once more. */
function unescapedIds(segments: readonly string[]): readonly string[] {
  const version = segments[0] === "token" ? 1 : 0;
  const { [version]: name = "", [version + 1]: below = "" } = segments;
  const isNamed = name === "v1" && collections.has(below);
  if (!isNamed && !versionsOfModels.has(name)) return segments;
  const before = isNamed ? version + 1 : version;
  return segments.flatMap((segment, index) => (index > before ? segment.split("/") : [segment]));
}

/** Below these are ids of models. */
const collections: ReadonlySet<string> = new Set(["models", "publishers", "projects"]);
/** All paths of these have the id of a model. */
const versionsOfModels: ReadonlySet<string> = new Set(["v1beta", "v1alpha", "v1beta1"]);

const hostForm = /^[\w.~:[\]%-]*$/;

/**
 * Without a Host header the URL is a bare path. Elysia's router skips the scheme without looking, so it would read
 * `/abcdef/v1/models` as `/v1/models`. The request stays the same object, because Bun knows its connection by it.
 */
function makeUrlAbsolute(request: Request): void {
  const { url } = request;
  if (url.startsWith("/")) Object.defineProperty(request, "url", { value: `http://localhost${url}` });
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
