import {
  cacheSavingsNano,
  type Quantities,
  type Rates,
  readRates,
  type StoredRates,
} from "../base/money/rates.ts";
import type { Usage } from "../base/usage/usage.ts";

/** The usage columns that most charges are computed from. */
type PlainUsage = Pick<Usage, "inputTokens" | "cachedInputTokens" | "cacheWriteTokens" | "outputTokens">;

/** The column's value: JSON, or null if the usage record implies the quantities, as for nearly all charges. */
export function quantitiesColumn(quantities: Quantities | null, usage: PlainUsage | null): string | null {
  if (quantities === null) return null;
  return usage !== null && isSameStatement(usage, quantities) ? null : JSON.stringify(quantities);
}

/** Reads the column's value. `usage` is null without a usage record. */
export function quantitiesOf(column: string | null, usage: PlainUsage | null): Quantities | null {
  if (column !== null) return JSON.parse(column) as Quantities;
  if (usage === null) return null;
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = usage;
  return {
    ...(inputTokens === 0 ? {} : { input: inputTokens }),
    ...(cachedInputTokens === 0 ? {} : { cached_input: cachedInputTokens }),
    ...(cacheWriteTokens === 0 ? {} : { cache_write: cacheWriteTokens }),
    ...(outputTokens === 0 ? {} : { output: outputTokens }),
  };
}

function isSameStatement(usage: PlainUsage, quantities: Quantities): boolean {
  for (const name in quantities) {
    if (name !== "input" && name !== "cached_input" && name !== "cache_write" && name !== "output")
      return false;
  }
  const { input = 0, cached_input = 0, cache_write = 0, output = 0 } = quantities;
  return (
    input === usage.inputTokens &&
    cached_input === usage.cachedInputTokens &&
    cache_write === usage.cacheWriteTokens &&
    output === usage.outputTokens
  );
}

const maxKnownRates = 1000;
const knownRates = new Map<number, Rates>();

/** The amount that caching saved; null if nothing was cached. */
export function savingsColumn(rates: StoredRates | null, quantities: Quantities | null): number | null {
  if (rates === null || quantities === null) return null;
  for (const name in quantities) {
    if (name.includes("cache")) return cacheSavingsNano(ratesOf(rates), quantities);
  }
  return null;
}

function ratesOf({ id, text }: StoredRates): Rates {
  const known = knownRates.get(id);
  if (known !== undefined) return known;
  const rates = readRates(text);
  if (knownRates.size >= maxKnownRates) knownRates.clear();
  knownRates.set(id, rates);
  return rates;
}

/** A duration is stored in whole milliseconds. */
export function msColumn(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
