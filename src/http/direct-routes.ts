import type { Route } from "../gateway/client-call.ts";

type Answer = (request: Request, route: Route) => Promise<Response> | Response;

type ByMethod = Readonly<Record<string, (request: Request) => Promise<Response> | Response>>;

/**
 * Routes for Bun's own router, past Elysia's handlers. For each request Elysia makes a context, calls hooks, and awaits
 * the answer in a function of its own, none of which a generation needs: 3 to 8 % of a chat request's CPU time at 32
 * concurrent ones. So these are registered here and nowhere else.
 */
export function directRoutes(routes: readonly Route[], answer: Answer): Record<string, ByMethod> {
  const direct: Record<string, ByMethod> = {};
  for (const route of routes) {
    const handle: ByMethod = { [route.method]: (request) => answer(request, route) };
    direct[route.path] = handle;
    // Elysia strips one slash from the end of each pattern, and this one matches the path with a slash at its end.
    direct[`${route.path}//`] = handle;
  }
  return direct;
}
