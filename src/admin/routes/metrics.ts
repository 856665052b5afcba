import type { Elysia } from "elysia";
import { admit } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";
import { metricsResponse } from "../metrics-response.ts";
import { accessError, refusalResponse } from "./refusal.ts";

/** Prometheus metrics at `/metrics`, with the admin token. */
export function mountMetrics(app: Elysia, deps: AdminDeps): void {
  app.get("/metrics", async ({ request }) => {
    const verdict = await admit(deps.guard, request, deps.addressOf(request), false);
    if (verdict.kind === "admitted") return metricsResponse(deps);
    return refusalResponse(await accessError(deps.guard.lockout, verdict));
  });
}
