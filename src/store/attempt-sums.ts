import { noUsage, totalInput, type Usage } from "../base/usage/usage.ts";

/** Who was asked in an attempt. */
export interface Served {
  readonly provider: string;
  /** The id of the credential; empty if the provider needs none. */
  readonly credential: string;
  readonly upstreamModel: string;
}

/** As the exchange ended that paid for it, or charged to nobody. */
export type AttemptEnding = "completed" | "failed" | "cancelled" | "interrupted" | "uncharged";

/** What is summed up of attempts, to be held against a provider's bill. */
export const attemptFigureNames = [
  "attempts",
  /** Those of them that were charged by a count of our own, because the provider's figures were missing or not believed. */
  "estimated",
  /** Tokens as the provider has reported them. The three kinds of input are apart. */
  "inputTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "outputTokens",
  /** What was charged beyond these. */
  "countedInputTokens",
  "countedOutputTokens",
  /** At the prices of the configuration, paid or not. */
  "costNano",
] as const;

export type AttemptFigures = { readonly [Name in (typeof attemptFigureNames)[number]]: number };

/** One attempt, or a sum of some that agree in the rest. */
export interface AttemptCount extends Served, AttemptFigures {
  readonly ending: AttemptEnding;
}

/** The attempts of a day (UTC, since 1970). */
export interface AttemptSums extends AttemptCount {
  readonly day: number;
}

export const noAttemptCounts: readonly AttemptCount[] = [];

export interface ChargedAttempt {
  readonly ending: AttemptEnding;
  readonly isEstimated: boolean;
  /** What the provider has reported; null if nothing. */
  readonly told: Usage | null;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly costNano: number;
}

export function chargedAttempt(served: Served, charge: ChargedAttempt): AttemptCount {
  const told = charge.told ?? noUsage;
  return {
    provider: served.provider,
    credential: served.credential,
    upstreamModel: served.upstreamModel,
    ending: charge.ending,
    attempts: 1,
    estimated: charge.isEstimated ? 1 : 0,
    inputTokens: told.inputTokens,
    cachedInputTokens: told.cachedInputTokens,
    cacheWriteTokens: told.cacheWriteTokens,
    outputTokens: told.outputTokens,
    countedInputTokens: Math.max(0, charge.inputTokens - totalInput(told)),
    countedOutputTokens: Math.max(0, charge.outputTokens - told.outputTokens),
    costNano: charge.costNano,
  };
}

export function unchargedAttempt(served: Served, told: Usage | null): AttemptCount {
  const nothing = { isEstimated: false, told, inputTokens: 0, outputTokens: 0, costNano: 0 };
  return chargedAttempt(served, { ending: "uncharged", ...nothing });
}

// The cast holds because the names are those of the list.
const noFigures = Object.fromEntries(attemptFigureNames.map((name) => [name, 0])) as AttemptFigures;

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] };

/** Adds attempts up, so that a batch writes one row for many of them. */
export class AttemptTally {
  #sums = new Map<string, Mutable<AttemptSums>>();
  /** The sums that were added to last: traffic comes in runs, and comparing is cheaper than making a name (500 → 270 ns). */
  #latest: Mutable<AttemptSums> | null = null;

  add(day: number, count: AttemptCount): void {
    const sums = this.#sumsOf(day, count);
    // Written out, because a loop over names takes 1.2 µs of a request.
    sums.attempts += count.attempts;
    sums.estimated += count.estimated;
    sums.inputTokens += count.inputTokens;
    sums.cachedInputTokens += count.cachedInputTokens;
    sums.cacheWriteTokens += count.cacheWriteTokens;
    sums.outputTokens += count.outputTokens;
    sums.countedInputTokens += count.countedInputTokens;
    sums.countedOutputTokens += count.countedOutputTokens;
    sums.costNano += count.costNano;
  }

  #sumsOf(day: number, { provider, credential, upstreamModel, ending }: AttemptCount): Mutable<AttemptSums> {
    const latest = this.#latest;
    const isSame = latest !== null && latest.day === day && latest.ending === ending;
    const isSameModel = isSame && latest.upstreamModel === upstreamModel && latest.provider === provider;
    if (isSameModel && latest.credential === credential) return latest;
    const name = `${day} ${ending} ${provider} ${credential} ${upstreamModel}`;
    const sums = this.#sums.get(name) ?? { provider, credential, upstreamModel, ending, day, ...noFigures };
    this.#sums.set(name, sums);
    this.#latest = sums;
    return sums;
  }

  all(): Iterable<AttemptSums> {
    return this.#sums.values();
  }

  clear(): void {
    this.#sums = new Map();
    this.#latest = null;
  }

  /** All of them; later additions start from 0. */
  take(): readonly AttemptSums[] {
    const all = [...this.#sums.values()];
    this.clear();
    return all;
  }
}
