import { newId } from "../base/id.ts";
import { creditsFromNano } from "../base/money.ts";
import type { AdminDeps } from "./deps.ts";

export type MetricsSource = Pick<
  AdminDeps,
  "live" | "store" | "keys" | "ledger" | "inFlight" | "droppedEndings" | "deploymentHealth"
>;

export function metricsResponse(deps: MetricsSource): Response {
  return new Response(renderMetrics(deps), {
    headers: {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
      "x-request-id": newId("req_"),
    },
  });
}

function renderMetrics(deps: MetricsSource): string {
  const held = heldNow(deps);
  return deps.live.metrics.render({
    inFlight: deps.inFlight(),
    droppedEndings: deps.droppedEndings(),
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

function heldNow({ keys, ledger }: MetricsSource): { nano: number; tokens: number } {
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
