import { type ExtraUsage, noCalls, nothingReported, type ReportedExtras } from "../../base/extra-usage.ts";
import type { ToolCalls } from "../../base/hosted-tools.ts";
import { usualTiers } from "../../base/service-tiers.ts";

/** What a request asks for that costs more than its tokens at the list price. */
export interface AskedExtras {
  /** What the hold has to cover; audio tokens are 1 where there may be any. */
  readonly most: ExtraUsage;
  /** What is used in any case. */
  readonly least: ToolCalls;
  /** The field that asks for the tier; null if none does. */
  readonly tierField: string | null;
}

/**
 * What is charged for: what the provider reports, and what was asked for where it says nothing. Null for nothing extra.
 * A tier whose field was dropped on the way is not asked for: no price follows from what the provider has not seen.
 */
export function usedExtras(
  asked: AskedExtras | null,
  reported: ReportedExtras | null,
  dropped: readonly string[],
): ExtraUsage | null {
  if (asked === null && (reported === null || reported === nothingReported)) return null;
  const told = reported?.tier ?? (asked === null ? null : tierSent(asked, dropped));
  const tier = told === null || usualTiers.has(told) ? null : told;
  const calls = withLeast(reported?.calls ?? noCalls, asked?.least ?? noCalls);
  const { audioInputTokens = 0, audioOutputTokens = 0 } = reported ?? {};
  const isNothing = tier === null && calls === noCalls && audioInputTokens + audioOutputTokens === 0;
  return isNothing ? null : { tier, calls, audioInputTokens, audioOutputTokens };
}

function tierSent({ most, tierField }: AskedExtras, dropped: readonly string[]): string | null {
  return tierField !== null && dropped.includes(tierField) ? null : most.tier;
}

function withLeast(calls: ToolCalls, least: ToolCalls): ToolCalls {
  if (least.web_search === undefined) return calls;
  return { ...calls, web_search: Math.max(calls.web_search ?? 0, least.web_search) };
}
