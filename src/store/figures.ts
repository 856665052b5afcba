/**
 * Every figure that a report shows. Each is defined here once and means the same on every page, in every command and
 * over every range; docs/admin.md has the same list for operators. An exchange is counted at the time it ended.
 */
export const figureNames = [
  /** Usage records: completed exchanges, and those that failed after content had begun. As in `/v1/usage`. */
  "requests",
  "completed",
  /** Answered with a 5xx, or broken off after the answer had begun. */
  "failed",
  /** Answered with a 4xx. */
  "refused",
  /** The client left. */
  "cancelled",
  /** The process ended first; charged at the next start. */
  "interrupted",
  /** Tokens are those of usage records. All input, the cached part included. */
  "inputTokens",
  "cachedInputTokens",
  "outputTokens",
  /** Charges of credit keys: the sum of the ledger's entries, whether or not there is a usage record. */
  "spendNano",
  "cancelledSpendNano",
  "interruptedSpendNano",
  /** The same for token-budget keys, whose charges are tokens. */
  "spendTokens",
  "cancelledSpendTokens",
  "interruptedSpendTokens",
  /** What the use of token-budget keys would have cost at the price of the deployment that answered. */
  "listCostNano",
  /** How much more the calls with usage records would have cost without the providers' caches, for keys of both modes. */
  "cacheSavingsNano",
  /** Costs above the hold that prepaid credit accounts were not charged, because the balance or a cap had no more. */
  "overrunNano",
  /** The same for token budgets. */
  "overrunTokens",
  /** Sums and counts for averages: exchanges that completed or failed. */
  "firstByteMs",
  "firstByteCount",
  "totalMs",
  "totalCount",
  /** Failed attempts of exchanges that completed, because a retry or failover covered them; for the provider that failed. */
  "coveredAttempts",
] as const;

type FigureName = (typeof figureNames)[number];
export type Figures = { readonly [Name in FigureName]: number };
export type MutableFigures = { -readonly [Name in FigureName]: number };

// The cast holds because the names are those of the list.
const zeros = Object.fromEntries(figureNames.map((name) => [name, 0])) as Figures;

export function noFigures(): MutableFigures {
  return { ...zeros };
}

export function sumFigures(all: Iterable<Figures>): Figures {
  const sum = noFigures();
  for (const figures of all) for (const name of figureNames) sum[name] += figures[name];
  return sum;
}

/** The share of the input that came from a cache; null if there was no input. */
export function cachedInputShare({ inputTokens, cachedInputTokens }: Figures): number | null {
  return inputTokens === 0 ? null : cachedInputTokens / inputTokens;
}

/** The share of failed exchanges among those that were admitted and ended; null if there were none. */
export function errorRate({ completed, failed }: Pick<Figures, "completed" | "failed">): number | null {
  return completed + failed === 0 ? null : failed / (completed + failed);
}
