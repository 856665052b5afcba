import type { AttemptCount } from "../../attempt-sums.ts";
import type { JournalItem } from "../../records.ts";

/**
 * The attempt of a charge whose row already contains all of it except the credential. Undefined if there were other
 * attempts, or it used something else. Such an attempt needs no row in `attempt_sums` before the roll-up: without this, a
 * request by itself writes two more pages and takes 15% more CPU.
 */
export function rowAttempt({
  charge,
  record,
  attempts = [],
}: JournalItem & { kind: "settle" }): AttemptCount | undefined {
  const attempt = attempts[0];
  if (attempt === undefined || attempts.length > 1 || record === null) return undefined;
  const { usage, provider, upstreamModel, costNano } = record;
  const isSameDeployment = attempt.provider === provider && attempt.upstreamModel === upstreamModel;
  const isAsReported =
    attempt.inputTokens === usage.inputTokens &&
    attempt.cachedInputTokens === usage.cachedInputTokens &&
    attempt.cacheWriteTokens === usage.cacheWriteTokens &&
    attempt.outputTokens === usage.outputTokens &&
    attempt.countedInputTokens + attempt.countedOutputTokens + attempt.estimated === 0;
  const isCharged =
    attempt.outcome === charge.outcome && attempt.costNano === (charge.listCostNano ?? costNano);
  return isSameDeployment && isAsReported && isCharged ? attempt : undefined;
}
