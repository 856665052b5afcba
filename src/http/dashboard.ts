import type { Elysia } from "elysia";
import { dashboardResponse } from "../dashboard/serve.ts";
import { pathOf } from "./path.ts";

/** The dashboard's page and files; the page itself asks the admin API for everything it shows. */
export function mountDashboard(app: Elysia): Elysia {
  const answer = ({ request }: { request: Request }) => dashboardResponse(request, pathOf(request));
  app.get("/admin", answer);
  app.get("/admin/*", answer);
  return app;
}
