import { Elysia } from "elysia";
import { dashboardResponse } from "../dashboard/serve.ts";
import { pathOf } from "./path.ts";

/** The dashboard's page and files. The page fetches everything it shows from the admin API. */
export function dashboardRoutes(): Elysia {
  const app = new Elysia();
  app.get("/admin", ({ request }) => dashboardResponse(request, pathOf(request)));
  app.get("/admin/*", ({ request }) => dashboardResponse(request, pathOf(request)));
  return app;
}
