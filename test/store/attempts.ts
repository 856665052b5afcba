import { noUsage } from "../../src/base/usage/usage.ts";
import { type AttemptCount, type AttemptTarget, chargedAttempt } from "../../src/store/attempt-sums.ts";

export const served: AttemptTarget = {
  provider: "openai",
  credential: "c1",
  upstreamModel: 'gpt "5.6", \\ it',
};

/** An attempt that was charged as its provider reported it. */
export function attempt(overrides: Partial<AttemptCount> = {}): AttemptCount {
  const reported = {
    ...noUsage,
    inputTokens: 10,
    cachedInputTokens: 4,
    cacheWriteTokens: 3,
    outputTokens: 5,
  };
  const charge = {
    outcome: "completed",
    isEstimated: false,
    reported,
    inputTokens: 17,
    outputTokens: 5,
  } as const;
  return { ...chargedAttempt(served, { ...charge, owedNanoUsd: 100 }), ...overrides };
}

/** The same, so many times. */
export function times(count: number, { ...one }: AttemptCount): AttemptCount {
  return {
    ...one,
    attempts: one.attempts * count,
    estimated: one.estimated * count,
    inputTokens: one.inputTokens * count,
    cachedInputTokens: one.cachedInputTokens * count,
    cacheWriteTokens: one.cacheWriteTokens * count,
    outputTokens: one.outputTokens * count,
    countedInputTokens: one.countedInputTokens * count,
    countedOutputTokens: one.countedOutputTokens * count,
    owedNanoUsd: one.owedNanoUsd * count,
  };
}
