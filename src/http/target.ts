import type { Server } from "bun";
import { GatewayError } from "../base/errors.ts";
import { plainError } from "./plain.ts";

export type Handler = (request: Request, server: Server<undefined>) => Promise<Response> | Response;

/** A request as Bun's router hands it over, with the segments of the path that matched. */
type RoutedRequest = Request & { readonly params?: Readonly<Record<string, string>> };

/** Deeper paths than this exist nowhere. */
const mostSegments = 12;

const segmentNames = Array.from({ length: mostSegments }, (_, index) => `s${index}`);

/**
 * Routes for the server that together match every path, and refuse the odd ones before anything else sees them.
 *
 * `Request.url` has been normalised: backslashes are slashes there, and `..` is resolved. A proxy in front of us may
 * do neither, and then lets a path through that its rules forbid under its real name (`/v1/..\admin`). The server's
 * own router works on the target as it was sent, so it is asked for the path segment by segment. What it cannot cut
 * into segments (`//`, or too many of them) is never routed at all.
 */
export function guardedRoutes(handle: Handler, notFound: Handler): Record<string, Handler> {
  const guarded: Handler = (request, server) => {
    const refusal = refuseTarget(request);
    return refusal ?? handle(request, server);
  };
  const routes: Record<string, Handler> = { "/": guarded, "/*": notFound };
  let pattern = "";
  for (const name of segmentNames) {
    pattern += `/:${name}`;
    routes[pattern] = guarded;
    routes[`${pattern}/`] = guarded;
  }
  return routes;
}

function refuseTarget(request: RoutedRequest): Response | null {
  const segments = Object.values(request.params ?? {});
  const path = `/${segments.join("/")}`;
  if (!segments.every(isPlainSegment)) return plainError(path, oddPath());
  return refuseHost(request, path);
}

/** What a second decoding would change, and what other software takes for a separator, an end or a dot segment. */
const oddCharacters = /[\p{Cc}/\\?#%\ufffd]/u;

/** A segment is given as the router has decoded it, once. */
function isPlainSegment(segment: string): boolean {
  return segment !== "." && segment !== ".." && !oddCharacters.test(segment);
}

function oddPath(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "The path has a dot segment, a backslash, a control character or an encoded separator; send it in its plain form.",
  );
}

const hostForm = /^[\w.~:[\]%-]*$/;

/**
 * Two `Host` lines arrive joined by a comma. Which of them counts is decided differently by every program on the way,
 * so neither does.
 */
export function refuseHost(request: Request, path: string): Response | null {
  const host = request.headers.get("host");
  if (host === null || hostForm.test(host)) return null;
  const message = "The Host header must name one host, once.";
  return plainError(path, new GatewayError("invalid_request", message));
}
