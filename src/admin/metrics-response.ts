import { type Finding, findingKindNames } from "../attention/finding.ts";
import { newId } from "../base/id.ts";
import { creditsFromNano } from "../base/money.ts";
import { residentBytes } from "../base/resident-bytes.ts";
import type { AccountGauges } from "../observe/metrics-gauges.ts";
import { accountGauges } from "./account-gauges.ts";
import type { AdminDeps } from "./deps.ts";

export type MetricsSource = Pick<
  AdminDeps,
  | "live"
  | "journalStats"
  | "accounts"
  | "inFlight"
  | "droppedEndings"
  | "deploymentHealth"
  | "attention"
  | "isDraining"
  | "trouble"
  | "store"
  | "clock"
>;

export async function metricsResponse(deps: MetricsSource): Promise<Response> {
  return new Response(renderMetrics(deps, await accountGauges(deps)), {
    headers: {
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
      "x-request-id": newId("req_"),
    },
  });
}

function renderMetrics(deps: MetricsSource, accounts: readonly AccountGauges[]): string {
  const held = deps.accounts.held();
  return deps.live.metrics.render({
    ready: !deps.isDraining() && deps.trouble() === null,
    inFlight: deps.inFlight(),
    droppedEndings: deps.droppedEndings(),
    heldCredits: creditsFromNano(held.nano),
    heldTokens: held.tokens,
    eventLoopLagMs: deps.live.lag.longestMs,
    residentBytes: residentBytes(),
    journal: deps.journalStats(),
    attention: attentionCounts(deps.attention()),
    accounts,
    breakers: deps
      .deploymentHealth()
      .map(({ name, state, inFlight }) => ({ deployment: name, state, inFlight })),
  });
}

/** Every kind, so that a series does not vanish when it is over. */
function attentionCounts(findings: readonly Finding[]) {
  return findingKindNames.map((kind) => ({
    kind,
    findings: findings.filter((finding) => finding.kind === kind).length,
  }));
}
