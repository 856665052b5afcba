/**
 * Prices of tokens, by their names in the configuration: in whole pico-USD (see money.ts), or in USD per million for
 * display.
 */
export interface TokenRates {
  readonly input: number;
  readonly output: number;
  readonly cached_input: number;
  readonly cache_write: number;
  /** For tokens cached for an hour; missing if they cost as much as any write. */
  readonly cache_write_1h?: number;
}

export interface TokenPrice extends TokenRates {
  /** For all tokens of a call whose input is above a limit. */
  readonly long_context?: TokenRates & { readonly above: number };
}

/** Converts a price to another unit. */
export function mapPrice(price: TokenPrice, change: (rate: number) => number): TokenPrice {
  const { long_context: long } = price;
  const rates = mapRates(price, change);
  return long === undefined
    ? rates
    : { ...rates, long_context: { above: long.above, ...mapRates(long, change) } };
}

function mapRates(rates: TokenRates, change: (rate: number) => number): TokenRates {
  const { input, output, cached_input, cache_write, cache_write_1h: hour } = rates;
  return {
    input: change(input),
    output: change(output),
    cached_input: change(cached_input),
    cache_write: change(cache_write),
    ...(hour === undefined ? {} : { cache_write_1h: change(hour) }),
  };
}
