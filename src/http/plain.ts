import type { GatewayError } from "../base/errors.ts";
import { newId } from "../base/id.ts";
import { type ErrorFormat, renderError } from "../dialects/errors/envelope.ts";
import { clientDialects, plainErrors } from "../dialects/registry.ts";
import type { Route } from "../gateway/exchange/client-call.ts";
import { routes } from "../gateway/operations.ts";
import { isAt } from "./routes.ts";

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
