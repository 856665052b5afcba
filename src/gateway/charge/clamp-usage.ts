import { maxTokens, type ReportedUsage, totalInput, type Usage } from "../../base/usage/usage.ts";
import type { HoldTokens } from "../../catalog/price.ts";

/** The limits of plausible usage. */
export interface UsageBounds {
  /** The most tokens that the model reads and writes at once; null if that is not known. */
  readonly contextWindow: number | null;
  /** The provider may have run the model several times, so that sums may be above the window. */
  readonly mayRepeat: boolean;
  readonly held: HoldTokens;
}

/**
 * Input or output above what the model can read or write is implausible, and is clamped to what the hold allowed for. So implausible
 * usage makes a call neither more nor less expensive than its hold.
 */
export function clampUsage(
  reported: ReportedUsage,
  { contextWindow, mayRepeat, held }: UsageBounds,
): ReportedUsage {
  const most = mayRepeat ? maxTokens : (contextWindow ?? maxTokens);
  const isInputImplausible = totalInput(reported) > most;
  // Several choices may produce more than one window in total.
  const isOutputImplausible = reported.outputTokens > Math.max(most, held.output);
  if (!isInputImplausible && !isOutputImplausible) return reported;
  const { rounds: _, ...sums } = reported;
  return {
    ...sums,
    ...(isInputImplausible ? inputUpTo(held.input, reported) : {}),
    ...(isOutputImplausible ? outputUpTo(held.output, reported) : {}),
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
