import { Elysia } from "elysia";
import { GatewayError } from "../base/errors.ts";
import { dashboardResponse } from "../dashboard/serve.ts";
import { pathOf } from "./path.ts";
import { plainError } from "./plain.ts";

/** The dashboard's page and files. The page fetches everything it shows from the admin API. */
export function dashboardRoutes(): Elysia {
  const app = new Elysia();
  app.get("/admin", ({ request }) => dashboardResponse(request, pathOf(request)));
  app.get("/admin/*", ({ request }) => pageOrFile(request));
  return app;
}

/** A program that misspells a path of the admin API must not take the page for its answer. */
function pageOrFile(request: Request): Promise<Response> | Response {
  const path = pathOf(request);
  if (!/^\/admin\/api(\/|$)/.test(path)) return dashboardResponse(request, path);
  return plainError(path, new GatewayError("not_found", "There is no such place in the admin API."));
}
