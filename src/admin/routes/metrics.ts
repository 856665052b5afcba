import type { Elysia } from "elysia";
import { admit } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";
import { metricsResponse } from "../metrics-response.ts";
import { notAdmitted, refusalResponse } from "./refusal.ts";

/** Prometheus at `/metrics`, for whoever has the admin token. */
export function mountMetrics(app: Elysia, deps: AdminDeps): void {
  app.get("/metrics", ({ request }) => {
    const verdict = admit(deps.guard, request, deps.addressOf(request), false);
    return verdict.kind === "admitted" ? metricsResponse(deps) : refusalResponse(notAdmitted(verdict));
  });
}
