import type { TokenPrice, TokenRates } from "../base/money/token-price.ts";

/** The rates for a call with this much input: the usual ones, or those above the limit of a long context. */
export function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  const { long_context } = price;
  return long_context !== undefined && inputTokens > long_context.above ? long_context : price;
}

/** What an hour's stay in a cache costs; the usual price of a write if it has none of its own. */
export function hourWriteRate({ cache_write, cache_write_1h }: TokenRates): number {
  return cache_write_1h ?? cache_write;
}

/** The highest of each rate, so that none of these costs more. */
export function highestTokenRates(all: readonly TokenRates[]): TokenRates {
  const hour = all.some(({ cache_write_1h }) => cache_write_1h !== undefined);
  return {
    input: Math.max(...all.map((rates) => rates.input)),
    output: Math.max(...all.map((rates) => rates.output)),
    cached_input: Math.max(...all.map((rates) => rates.cached_input)),
    cache_write: Math.max(...all.map((rates) => rates.cache_write)),
    ...(hour ? { cache_write_1h: Math.max(...all.map(hourWriteRate)) } : {}),
  };
}

/** The highest of several prices. Rates for a long context apply from the lowest of their limits on. */
export function highestTokenPrice(prices: readonly TokenPrice[]): TokenPrice {
  const limits = prices.flatMap(({ long_context }) =>
    long_context === undefined ? [] : [long_context.above],
  );
  const rates = highestTokenRates(prices);
  if (limits.length === 0) return rates;
  const long = highestTokenRates(prices.map((price) => price.long_context ?? price));
  return { ...rates, long_context: { above: Math.min(...limits), ...long } };
}
