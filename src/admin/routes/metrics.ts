import type { Elysia } from "elysia";
import { newId } from "../../base/id.ts";
import { creditsFromNano } from "../../base/money.ts";
import { admit } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";
import { notAdmitted, refusalResponse } from "./refusal.ts";

/** Prometheus at `/metrics`, for whoever has the admin token. */
export function mountMetrics(app: Elysia, deps: AdminDeps): void {
  app.get("/metrics", ({ request }) => {
    const verdict = admit(deps.guard, request, deps.addressOf(request), false);
    return verdict.kind === "admitted" ? metricsResponse(deps) : refusalResponse(notAdmitted(verdict));
  });
}

/** For the listener of its own, which is open: bind it to an address that only the collector reaches. */
export function metricsResponse(deps: AdminDeps): Response {
  return new Response(renderMetrics(deps), {
    headers: {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
      "x-request-id": newId("req_"),
    },
  });
}

function renderMetrics(deps: AdminDeps): string {
  const held = heldNow(deps);
  return deps.live.metrics.render({
    inFlight: deps.inFlight(),
    heldCredits: creditsFromNano(held.nano),
    heldTokens: held.tokens,
    eventLoopLagMs: deps.live.lag.longestMs,
    residentBytes: process.memoryUsage.rss(),
    journal: deps.store.stats,
    breakers: deps
      .deploymentHealth()
      .map(({ name, state, inFlight }) => ({ deployment: name, state, inFlight })),
  });
}

function heldNow({ keys, ledger }: AdminDeps): { nano: number; tokens: number } {
  let nano = 0;
  let tokens = 0;
  if (ledger.openHolds === 0) return { nano, tokens };
  for (const key of keys.all()) {
    const { held, budgetHeld } = ledger.summary(key.id);
    nano += held;
    tokens += budgetHeld;
  }
  return { nano, tokens };
}
