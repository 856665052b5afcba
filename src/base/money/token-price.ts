/** Prices of tokens that are neither text nor read from a cache of text, by their names in the configuration. */
export const otherTokens = [
  "audio_input",
  "audio_output",
  "image_input",
  "image_output",
  "cached_audio_input",
  "cached_image_input",
] as const;

export type OtherTokens = (typeof otherTokens)[number];

/**
 * Prices of tokens, by their names in the configuration: in whole pico-USD (see money.ts), or in USD per million for
 * display.
 */
export interface TokenRates extends Partial<Readonly<Record<OtherTokens, number>>> {
  readonly input: number;
  readonly output: number;
  readonly cached_input: number;
  readonly cache_write: number;
  /** For tokens cached for an hour; missing if they cost as much as any write. */
  readonly cache_write_1h?: number;
  /** For tokens cached for a day; missing if they cost as much as any write. */
  readonly cache_write_24h?: number;
}

/** Rates for all tokens of a call whose input is above a limit. */
export interface LongContext extends TokenRates {
  readonly above: number;
}

export interface TokenPrice extends TokenRates {
  /** Several are in the order of their limits. */
  readonly long_context?: LongContext | readonly LongContext[];
}

/** The bands of a price, in the order of their limits. */
export function bandsOf<Band extends { readonly above: number }>(
  long: Band | readonly Band[] | undefined,
): readonly Band[] {
  if (long === undefined) return [];
  return "above" in long ? [long] : long;
}

/** The bands as a price has them. */
export function longContextOf<Band>(bands: readonly Band[]): {
  readonly long_context?: Band | Band[];
} {
  const [first, second] = bands;
  if (first === undefined) return {};
  return { long_context: second === undefined ? first : [...bands] };
}

const optionalRates = ["cache_write_1h", "cache_write_24h", ...otherTokens] as const;

/** Converts a price to another unit. */
export function mapPrice(price: TokenPrice, change: (rate: number) => number): TokenPrice {
  const bands = bandsOf(price.long_context).map((band) => ({ above: band.above, ...mapRates(band, change) }));
  return { ...mapRates(price, change), ...longContextOf(bands) };
}

function mapRates(rates: TokenRates, change: (rate: number) => number): TokenRates {
  const { input, output, cached_input, cache_write } = rates;
  const changed: { -readonly [Name in keyof TokenRates]: TokenRates[Name] } = {
    input: change(input),
    output: change(output),
    cached_input: change(cached_input),
    cache_write: change(cache_write),
  };
  for (const name of optionalRates) {
    const rate = rates[name];
    if (rate !== undefined) changed[name] = change(rate);
  }
  return changed;
}
