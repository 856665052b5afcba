import type { GatewayError } from "../base/errors.ts";
import { newId } from "../base/id.ts";
import { type ErrorFormat, renderError } from "../dialects/errors/envelope.ts";
import { routes } from "./routes.ts";

/** Errors of paths outside the interface. They too have a request id and the path's envelope. */
export function plainError(
  path: string,
  error: GatewayError,
  headers: Record<string, string> = {},
): Response {
  const rendered = renderError(formatOf(path), error, newId("req_"));
  return new Response(rendered.body, {
    status: rendered.status,
    headers: { ...rendered.headers, ...headers },
  });
}

export function plainJson(body: unknown, status = 200): Response {
  return Response.json(body, {
    status,
    headers: { "x-request-id": newId("req_"), "cache-control": "no-store" },
  });
}

/** That of the route at this path or above it. */
function formatOf(path: string): ErrorFormat {
  const route = routes.find((it) => path === it.path || path.startsWith(`${it.path}/`));
  return route?.errors ?? "openai";
}
