import { plural } from "../../base/text/plural.ts";
import type { AttemptOutcome, AttemptSums } from "../../store/store.ts";
import type { ReportMetric, ReportMetrics } from "../../vendors/usage-report.ts";
import type { ReasonKind } from "./reason-kinds.ts";

export interface Reason {
  readonly kind: ReasonKind;
  /** Null if it is not known how many there were. */
  readonly calls: number | null;
  readonly text: string;
}

interface DifferingRow {
  readonly billed: ReportMetrics;
  readonly ledger: Readonly<Record<ReportMetric, number>>;
  readonly differing: readonly ReportMetric[];
  readonly attempts: readonly AttemptSums[];
}

/** Outcomes of calls that were charged by our own count, and why that count may be wrong. */
const estimatedOutcomes: readonly [AttemptOutcome, ReasonKind, string][] = [
  ["cancelled", "cancelled", "cancelled: the provider may have produced more than what arrived"],
  ["failed", "failed", "failed mid-stream: Sluice counted the output that arrived"],
  ["interrupted", "interrupted", "interrupted when a gateway stopped: charged by its last recorded progress"],
  ["completed", "estimated", "responded without plausible usage: Sluice counted the tokens"],
];

/** The likely reasons, the certain ones first. */
export function reasonsOf(row: DifferingRow): readonly Reason[] {
  const { billed, ledger, differing, attempts } = row;
  const knowsTokens = billed.input !== undefined || billed.output !== undefined;
  if (knowsTokens && differing.every((name) => name === "cost")) return [otherPrices];
  const reasons: Reason[] = [];
  for (const [outcome, kind, why] of estimatedOutcomes) {
    const calls = sumOf(attempts, "estimated", (sums) => sums.outcome === outcome);
    if (calls > 0) reasons.push({ kind, calls, text: `${plural(calls, "call")} ${why}.` });
  }
  const isUncharged = ({ outcome }: AttemptSums) => outcome === "uncharged";
  const uncharged = sumOf(attempts, "attempts", isUncharged);
  const isMore = differing.some((name) => (billed[name] ?? 0) > ledger[name]);
  if (uncharged > 0 && isMore) {
    const text = `${plural(uncharged, "call")} not charged: they failed, or the client disconnected, before the response.`;
    reasons.push({ kind: "uncharged", calls: uncharged, text });
  }
  const beyond = billed.requests === undefined ? null : billed.requests - ledger.requests - uncharged;
  if (beyond === null ? isMore && reasons.length === 0 : beyond > 0) reasons.push(pastTheGateway(beyond));
  if (reasons.length === 0) reasons.push(beyond === 0 ? otherFigures : notBilled(beyond && -beyond));
  if (!knowsTokens) reasons.push(otherPrices);
  return reasons;
}

const otherPrices: Reason = {
  kind: "price_mismatch",
  calls: null,
  text: "The token counts match, so the configured prices differ from the provider's (discounts, tiers, tools or a markup).",
};

const otherFigures: Reason = {
  kind: "usage_mismatch",
  calls: null,
  text: "The number of requests matches: the provider bills different token counts than its responses reported.",
};

function pastTheGateway(calls: number | null): Reason {
  const which = calls === null ? "Calls" : plural(calls, "call");
  const text = `${which} outside the gateway: made directly with a key of this account, or by \`sluice models check\`.`;
  return { kind: "outside_gateway", calls, text };
}

function notBilled(calls: number | null): Reason {
  const which = calls === null ? "Calls" : plural(calls, "call");
  const text = `${which} missing from the report: it may be incomplete, belong to a different account, or count them on the next day.`;
  return { kind: "not_billed", calls, text };
}

function sumOf(
  attempts: readonly AttemptSums[],
  figure: "attempts" | "estimated",
  isCounted: (sums: AttemptSums) => boolean,
): number {
  return attempts.filter(isCounted).reduce((sum, each) => sum + each[figure], 0);
}
