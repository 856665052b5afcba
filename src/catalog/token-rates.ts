import type { TokenPrice, TokenRates } from "../config/settings.ts";

/** The rates for a call with this much input: the usual ones, or those above the limit of a long context. */
export function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  const { longContext } = price;
  return longContext !== undefined && inputTokens > longContext.above ? longContext : price;
}

/** What an hour's stay in a cache costs; the usual price of a write if it has none of its own. */
export function hourWriteRate({ cacheWrite, cacheWriteHour }: TokenRates): number {
  return cacheWriteHour ?? cacheWrite;
}

/** The highest of each rate, so that none of these costs more. */
export function highestTokenRates(all: readonly TokenRates[]): TokenRates {
  const hour = all.some(({ cacheWriteHour }) => cacheWriteHour !== undefined);
  return {
    input: Math.max(...all.map((rates) => rates.input)),
    output: Math.max(...all.map((rates) => rates.output)),
    cachedInput: Math.max(...all.map((rates) => rates.cachedInput)),
    cacheWrite: Math.max(...all.map((rates) => rates.cacheWrite)),
    ...(hour ? { cacheWriteHour: Math.max(...all.map(hourWriteRate)) } : {}),
  };
}

/** The same for prices: the rates for a long context apply from the lowest of their limits on. */
export function highestTokenPrice(prices: readonly TokenPrice[]): TokenPrice {
  const limits = prices.flatMap(({ longContext }) => (longContext === undefined ? [] : [longContext.above]));
  const rates = highestTokenRates(prices);
  if (limits.length === 0) return rates;
  const long = highestTokenRates(prices.map((price) => price.longContext ?? price));
  return { ...rates, longContext: { above: Math.min(...limits), ...long } };
}
