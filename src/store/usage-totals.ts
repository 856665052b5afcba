/**
 * Every total that reports show. Each is defined here once and means the same on every page, in every command and
 * over every range; docs/usage-reports.md lists them for operators. A request counts at the time it ended.
 */
export const totalNames = [
  /** Usage records: completed requests, and those that failed after content had begun. As in `/v1/usage`. */
  "requests",
  "completed",
  /** Rejected with a 5xx, or interrupted after the response had begun. */
  "failed",
  /** Answered with a 4xx. */
  "rejected",
  /** The client disconnected. */
  "cancelled",
  /** The process ended first; charged at the next start. */
  "interrupted",
  /** Tokens come from usage records. All input, the cached part included. */
  "inputTokens",
  "cachedInputTokens",
  "outputTokens",
  /** Charges of credit keys: the sum of the ledger's entries, with or without a usage record. */
  "spendNano",
  "cancelledSpendNano",
  "interruptedSpendNano",
  /** Charges of token-budget keys, in tokens. */
  "spendTokens",
  "cancelledSpendTokens",
  "interruptedSpendTokens",
  /** The list cost of token-budget keys' requests, at the price of the deployment that responded. */
  "listCostNano",
  /**
   * The additional cost that the requests with usage records would have had without the providers' caches, for keys of
   * both modes.
   */
  "cacheSavingsNano",
  /** Costs above the hold that prepaid credit accounts were not charged, because the balance or a cap did not allow it. */
  "overrunNano",
  /** Tokens above the hold that token budgets were not charged. */
  "overrunTokens",
  /** Sums and counts for averages over requests that completed or failed. */
  "firstByteMs",
  "firstByteCount",
  "totalMs",
  "totalCount",
  /** Failed attempts of requests that completed after a retry or fallback; counted for the provider that failed. */
  "coveredAttempts",
] as const;

type TotalName = (typeof totalNames)[number];
export type UsageTotals = { readonly [Name in TotalName]: number };
export type MutableTotals = { -readonly [Name in TotalName]: number };

// Safe cast: the keys are exactly the listed names.
const zeros = Object.fromEntries(totalNames.map((name) => [name, 0])) as UsageTotals;

export function zeroTotals(): MutableTotals {
  return { ...zeros };
}

export function sumTotals(all: Iterable<UsageTotals>): UsageTotals {
  const sum = zeroTotals();
  for (const totals of all) for (const name of totalNames) sum[name] += totals[name];
  return sum;
}

/** The difference between a total and a part of it. */
export function totalsWithout(whole: UsageTotals, part: UsageTotals): UsageTotals {
  const rest = zeroTotals();
  for (const name of totalNames) rest[name] = whole[name] - part[name];
  return rest;
}

/** The share of the input that came from a cache; null if there was no input. */
export function cachedInputShare({ inputTokens, cachedInputTokens }: UsageTotals): number | null {
  return inputTokens === 0 ? null : cachedInputTokens / inputTokens;
}

/** The share of failed requests among those that were admitted and ended; null if there were none. */
export function errorRate({ completed, failed }: Pick<UsageTotals, "completed" | "failed">): number | null {
  return completed + failed === 0 ? null : failed / (completed + failed);
}
