import type { GatewayError } from "../base/errors.ts";
import { newId } from "../base/id.ts";
import { modeOrigins } from "../base/key-attributes.ts";
import { type ErrorFormat, renderError } from "../dialects/errors/envelope.ts";
import { clientDialects, plainErrors } from "../dialects/registry.ts";
import type { Route } from "../gateway/exchange/client-call.ts";
import { routes } from "../gateway/operations.ts";

/** Errors of paths outside the interface. They too have a request id and the path's envelope. */
export function plainError(
  path: string,
  error: GatewayError,
  headers: Record<string, string> = {},
  format = formatAt(path),
): Response {
  const rendered = renderError(format, error, newId("req_"));
  return new Response(rendered.body, {
    status: rendered.status,
    headers: { ...rendered.headers, ...headers },
  });
}

export function plainJson(body: unknown, status = 200): Response {
  return Response.json(body, { status, headers: uncached() });
}

/** A blob is not copied for each response. */
export function plainDocument(document: Blob): Response {
  return new Response(document, { headers: { ...uncached(), "content-type": document.type } });
}

function uncached(): Record<string, string> {
  return { "x-request-id": newId("req_"), "cache-control": "no-store" };
}

/** The error format of the route at this path. Without a route: the client's, if its headers show one, or the parent route's. */
export function formatAt(path: string, client?: Headers, served: readonly Route[] = routes): ErrorFormat {
  const route = served.find((it) => isAt(it, path));
  if (route !== undefined) return route.errors;
  const shown = client === undefined ? undefined : formatOf(client);
  if (shown !== undefined && served.some(({ errors }) => errors === shown)) return shown;
  return served.find((it) => path.startsWith(`${it.path}/`))?.errors ?? plainErrors;
}

/** The format that a client's headers show; undefined if they show none. */
export function formatOf(client: Headers): ErrorFormat | undefined {
  return clientDialects.find(({ marks }) => marks.some((name) => client.has(name)))?.errorFormat;
}

export const origins: readonly string[] = Object.values(modeOrigins);

/** Whether a path belongs to the interface, or would if there were such a route. */
export function isOfInterface(path: string): boolean {
  return origins.some((origin) => path.startsWith(`${origin}/v1/`));
}

/** Whether a route has this path, with or without a slash at its end. */
export function isAt({ path: pattern }: Route, path: string): boolean {
  if (pattern.endsWith("/*")) return path.startsWith(pattern.slice(0, -1)) && path.length >= pattern.length;
  if (!pattern.includes("/:")) return path === pattern || path === `${pattern}/`;
  const segments = path.replace(/\/$/, "").split("/");
  const patternParts = pattern.split("/");
  return (
    patternParts.length === segments.length &&
    patternParts.every((name, index) =>
      name.startsWith(":") ? segments[index] !== "" : segments[index] === name,
    )
  );
}

/** The path of the intended route if a client has a wrong base URL, without `/v1` or with two of them; else null. */
export function meantPath(path: string, served: readonly Route[]): string | null {
  const [, origin = "", rest = ""] = /^(\/token)?(?:\/v1)*(\/.*)$/.exec(path) ?? [];
  const meant = `${origin}/v1${rest}`;
  return served.some((route) => route.path === meant) ? meant : null;
}
