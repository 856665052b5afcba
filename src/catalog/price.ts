import { costNano, isToken, type Quantities, type Rates, unitOf } from "../base/money/rates.ts";
import type { TokenPrice, TokenRates } from "../base/money/token-price.ts";
import type { ToolCalls } from "../base/usage/hosted-tools.ts";
import { batchTier, type ExtraUsage, noCalls } from "../base/usage/usage.ts";
import type { ModelSettings, Price } from "../config/settings.ts";

/** The price shown to clients; null for a model that costs nothing. */
export function publishedPrice(model: ModelSettings): Price | null {
  return model.price ?? model.deployments[0]?.price ?? null;
}

/** The highest rate of each component, so that none of these prices costs more. Null if there is none. */
export function highestPrice(prices: readonly (Price | null)[]): Price | null {
  const known = prices.filter((price) => price !== null);
  if (known.length === 0) return null;
  return { ...highestTokenPrice(known), ...highestExtras(known) };
}

export interface HoldTokens {
  readonly input: number;
  readonly output: number;
}

/**
 * The amount to hold before a call: nano-credits for a credit key, tokens for a token-budget key. How much of the input
 * will be read from or written to a cache is not known yet, so the whole input is held at the highest rate.
 */
export function holdAmount(
  mode: "credit" | "token_budget",
  tokens: HoldTokens,
  price: Price | null,
  microUsdPerCredit: number,
  requested: ExtraUsage | null = null,
): number {
  if (mode === "token_budget") return tokens.input + tokens.output;
  if (price === null) return 0;
  const rates =
    requested === null ? ratesAt(price, tokens.input) : highestRates(price, requested, tokens.input);
  const highestInput = Math.max(rates.input, rates.cached_input, rates.cache_write, hourWriteRate(rates));
  const picoUsd: Rates["picoUsd"] = { ...price.extras, input: highestInput, output: rates.output };
  const calls = pricedCalls(requested?.calls ?? noCalls, picoUsd);
  const quantities = { ...requested?.units, ...calls, input: tokens.input, output: tokens.output };
  return costNano({ picoUsd, microUsdPerCredit }, quantities);
}

/** The rates for a call with this much input: the usual ones, or those above the limit of a long context. */
export function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  const { long_context } = price;
  return long_context !== undefined && inputTokens > long_context.above ? long_context : price;
}

/** The rate of a cache write that lasts an hour; without one, the rate of any write. */
function hourWriteRate({ cache_write, cache_write_1h }: TokenRates): number {
  return cache_write_1h ?? cache_write;
}

/** The highest of each rate, so that none of these costs more. */
function highestTokenRates(all: readonly TokenRates[]): TokenRates {
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
function highestTokenPrice(prices: readonly TokenPrice[]): TokenPrice {
  const limits = prices.flatMap(({ long_context }) =>
    long_context === undefined ? [] : [long_context.above],
  );
  const rates = highestTokenRates(prices);
  if (limits.length === 0) return rates;
  const long = highestTokenRates(prices.map((price) => price.long_context ?? price));
  return { ...rates, long_context: { above: Math.min(...limits), ...long } };
}

/** Undefined if the tier has no price. Its name comes from a client or a provider, and may be "constructor". */
export function ownTierPrice({ tiers }: Price, tier: string): TokenPrice | undefined {
  return tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
}

/** The price of a tier, or the default price if it has none. Several tiers together cost the highest rates among them. */
export function tierPrice(price: Price, tiers: readonly string[]): TokenPrice {
  if (tiers.length === 0) return price;
  const prices = tiers.flatMap((tier) => ownTierPrice(price, tier) ?? []);
  const [only = price] = prices;
  return prices.length > 1 ? highestTokenPrice(prices) : only;
}

/** The highest rates that may apply to a call with these extras: its tier's or the default, for text or audio. */
function highestRates(price: Price, requested: ExtraUsage, inputTokens: number): TokenRates {
  // No other tier is charged then.
  const batchPrice = requested.tiers.includes(batchTier) ? ownTierPrice(price, batchTier) : undefined;
  const rates = highestTokenRates(
    [batchPrice ?? price, batchPrice ?? tierPrice(price, requested.tiers)].map((each) =>
      ratesAt(each, inputTokens),
    ),
  );
  const rateOf = (name: string, tokens = 0) => (tokens > 0 ? (price.extras?.[name] ?? 0) : 0);
  const { audioInputTokens, audioOutputTokens, imageInputTokens, imageOutputTokens } = requested;
  return {
    ...rates,
    input: Math.max(
      rates.input,
      rateOf("audio_input", audioInputTokens),
      rateOf("cached_audio_input", audioInputTokens),
      rateOf("image_input", imageInputTokens),
      rateOf("cached_image_input", imageInputTokens),
    ),
    output: Math.max(
      rates.output,
      rateOf("audio_output", audioOutputTokens),
      rateOf("image_output", imageOutputTokens),
    ),
  };
}

/** The highest price of each extra among these. */
function highestExtras(prices: readonly Price[]): Pick<Price, "extras" | "tiers"> {
  const extras: Record<string, number> = {};
  for (const [name, picoUsd] of prices.flatMap((price) => Object.entries(price.extras ?? {}))) {
    extras[name] = Math.max(extras[name] ?? 0, picoUsd);
  }
  const tiers: Record<string, TokenPrice> = {};
  for (const name of new Set(prices.flatMap((price) => Object.keys(price.tiers ?? {})))) {
    tiers[name] = highestTokenPrice(prices.map((price) => tierPrice(price, [name])));
  }
  return {
    ...(Object.keys(extras).length === 0 ? {} : { extras }),
    ...(Object.keys(tiers).length === 0 ? {} : { tiers }),
  };
}

/** Whether each request costs a fee in addition to its tokens. */
export function hasRequestFee(price: Price): boolean {
  return price.extras?.["requests"] !== undefined || hasSizedFee(price);
}

/** Whether the fee depends on the size of a search, which it includes. */
export function hasSizedFee({ extras }: Price): boolean {
  return extras?.["requests.low"] !== undefined;
}

/** Whether it is known what a web search costs. */
export function hasSearchPrice(price: Price): boolean {
  return searchPriceOf(price) !== undefined || hasSizedFee(price);
}

/** What a web search costs, or all searches of one prompt; undefined if that is not known. */
export function searchPriceOf({ extras }: Price): number | undefined {
  return extras?.["web_search"] ?? extras?.["web_search_prompts"];
}

/** Calls of tools under the names of their prices. Some models bill a prompt once, however often it was searched for. */
export function pricedCalls(calls: ToolCalls, picoUsd: Rates["picoUsd"]): Quantities {
  const { web_search: searches = 0 } = calls;
  if (searches === 0 || picoUsd["web_search_prompts"] === undefined) return calls;
  const { web_search: _, ...others } = calls;
  return { ...others, web_search_prompts: 1 };
}

/** The names that a price has in the configuration, as far as metered routes are charged by them; see `PricedNames`. */
export function pricedNames({ names = ["input", "output"], extras = {} }: Price): ReadonlySet<string> {
  const known = new Set(names);
  const mostExpensiveFirst = Object.entries(extras).sort(([, one], [, other]) => other - one);
  for (const [name] of mostExpensiveFirst) {
    const unit = unitOf(name);
    if (unit !== undefined) known.add(unit).add(name === unit ? `${unit}.*` : name);
    else if (isToken(name)) known.add(name);
  }
  return known;
}
