import { maxTokens, type ReportedUsage, totalInput, type Usage } from "../../base/usage/usage.ts";
import type { HoldTokens } from "../../catalog/price.ts";

/** What a provider's figures are measured by. */
export interface BeliefTerms {
  /** The most tokens that the model reads and writes at once; null if that is not known. */
  readonly contextWindow: number | null;
  /** The provider may have run the model several times, so that sums may be above the window. */
  readonly mayRepeat: boolean;
  readonly held: HoldTokens;
}

/**
 * A side that is above what the model can read or write is doubtful, and is at most what the hold allowed for: whoever reports
 * nonsense makes a call neither dearer nor cheaper than it was held for.
 */
export function believe(
  reported: ReportedUsage,
  { contextWindow, mayRepeat, held }: BeliefTerms,
): ReportedUsage {
  const most = mayRepeat ? maxTokens : (contextWindow ?? maxTokens);
  const isInputAbsurd = totalInput(reported) > most;
  // Several choices may produce more than one window in total.
  const isOutputAbsurd = reported.outputTokens > Math.max(most, held.output);
  if (!isInputAbsurd && !isOutputAbsurd) return reported;
  const { rounds: _, ...sums } = reported;
  return {
    ...sums,
    ...(isInputAbsurd ? inputUpTo(held.input, reported) : {}),
    ...(isOutputAbsurd ? outputUpTo(held.output, reported) : {}),
  };
}

/** The kinds that cost most come first. */
function inputUpTo(most: number, usage: Usage) {
  const cacheWriteTokens = Math.min(usage.cacheWriteTokens, most);
  const inputTokens = Math.min(usage.inputTokens, most - cacheWriteTokens);
  const cachedInputTokens = Math.min(usage.cachedInputTokens, most - cacheWriteTokens - inputTokens);
  return { inputTokens, cachedInputTokens, cacheWriteTokens, isInputDoubtful: true } as const;
}

function outputUpTo(most: number, { outputTokens, reasoningTokens }: Usage) {
  return {
    outputTokens: Math.min(outputTokens, most),
    reasoningTokens: Math.min(reasoningTokens, most),
    isOutputDoubtful: true,
  } as const;
}
