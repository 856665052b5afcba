import { noUsage, totalInput, type Usage } from "../base/usage/usage.ts";

/** The provider, credential and model of an attempt. */
export interface AttemptTarget {
  readonly provider: string;
  /** The id of the credential; empty if the provider needs none. */
  readonly credential: string;
  readonly upstreamModel: string;
}

/** The outcome of the exchange that was charged for it, or `uncharged`. */
export type AttemptOutcome = "completed" | "failed" | "cancelled" | "interrupted" | "uncharged";

/** Stored totals of attempts, for comparison with a provider's usage report. */
export const attemptTotalNames = [
  "attempts",
  /** Attempts charged by Sluice's own count, because the provider's usage was missing or implausible. */
  "estimated",
  /** Tokens as the provider reported them. The three kinds of input do not overlap. */
  "inputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "outputTokens",
  /** Tokens charged in addition to the reported ones. */
  "countedInputTokens",
  "countedOutputTokens",
  /** Amount owed to the provider at its own price, in billionths of a USD, independent of charges and payments. */
  "owedNanoUsd",
] as const;

export type AttemptTotals = { readonly [Name in (typeof attemptTotalNames)[number]]: number };

/** One attempt, or the sum of several with the same provider, credential, model and outcome. */
export interface AttemptCount extends AttemptTarget, AttemptTotals {
  readonly outcome: AttemptOutcome;
}

/** The attempts of a day (UTC, since 1970). */
export interface AttemptSums extends AttemptCount {
  readonly day: number;
}

export const noAttemptCounts: readonly AttemptCount[] = [];

export interface ChargedAttempt {
  readonly outcome: AttemptOutcome;
  readonly isEstimated: boolean;
  /** The usage that the provider reported; null if none. */
  readonly reported: Usage | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly owedNanoUsd: number;
}

export function chargedAttempt(served: AttemptTarget, charge: ChargedAttempt): AttemptCount {
  const reported = charge.reported ?? noUsage;
  return {
    provider: served.provider,
    credential: served.credential,
    upstreamModel: served.upstreamModel,
    outcome: charge.outcome,
    attempts: 1,
    estimated: charge.isEstimated ? 1 : 0,
    inputTokens: reported.inputTokens,
    cachedInputTokens: reported.cachedInputTokens,
    cacheWriteTokens: reported.cacheWriteTokens,
    outputTokens: reported.outputTokens,
    countedInputTokens: Math.max(0, charge.inputTokens - totalInput(reported)),
    countedOutputTokens: Math.max(0, charge.outputTokens - reported.outputTokens),
    owedNanoUsd: charge.owedNanoUsd,
  };
}

export function unchargedAttempt(served: AttemptTarget, reported: Usage | null): AttemptCount {
  const nothing = { isEstimated: false, reported, inputTokens: 0, outputTokens: 0, owedNanoUsd: 0 };
  return chargedAttempt(served, { outcome: "uncharged", ...nothing });
}

// Safe cast: the keys are exactly the listed names.
const zeroTotals = Object.fromEntries(attemptTotalNames.map((name) => [name, 0])) as AttemptTotals;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Adds up attempts, so that a batch writes one row for many of them. */
export class AttemptTally {
  #sums = new Map<string, Mutable<AttemptSums>>();

  add(day: number, count: AttemptCount): void {
    const { provider, credential, upstreamModel, outcome } = count;
    const name = `${day} ${outcome} ${provider} ${credential} ${upstreamModel}`;
    const sums = this.#sums.getOrInsertComputed(name, () => ({
      ...{ provider, credential, upstreamModel, outcome, day },
      ...zeroTotals,
    }));
    for (const total of attemptTotalNames) sums[total] += count[total];
  }

  all(): Iterable<AttemptSums> {
    return this.#sums.values();
  }

  clear(): void {
    this.#sums = new Map();
  }

  /** Returns all sums. Later additions start from 0. */
  take(): readonly AttemptSums[] {
    const all = [...this.#sums.values()];
    this.clear();
    return all;
  }
}
