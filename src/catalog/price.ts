import { costNano, isToken, type Quantities, type Rates, unitOf } from "../base/money/rates.ts";
import {
  bandsOf,
  type LongContext,
  longContextOf,
  type OtherTokens,
  otherTokens,
  type TokenPrice,
  type TokenRates,
} from "../base/money/token-price.ts";
import type { ToolCalls } from "../base/usage/hosted-tools.ts";
import { batchTier, type ExtraUsage, noCalls } from "../base/usage/usage.ts";
import type { ModelSettings, Price } from "../config/settings.ts";

/** The price shown to clients; null for a model that costs nothing. */
export function publishedPrice(model: ModelSettings): Price | null {
  return model.price ?? model.deployments[0]?.price ?? null;
}

/** The price that applies at a moment. */
export function priceAt(price: Price, atMs: number): Price;
export function priceAt(price: Price | null, atMs: number): Price | null;
export function priceAt(price: Price | null, atMs: number): Price | null {
  if (price?.later === undefined) return price;
  return price.later.findLast(({ fromMs }) => fromMs <= atMs)?.price ?? price;
}

/** The price that applies at a moment, which no later one replaces. */
export function pinnedPrice(price: Price | null, atMs: number): Price | null {
  const inForce = priceAt(price, atMs);
  if (inForce?.later === undefined) return inForce;
  const { later: _, ...pinned } = inForce;
  return pinned;
}

/** The moments at which prices begin, in their order. */
export function startsOf(prices: readonly (Price | null)[]): readonly number[] {
  const starts = prices.flatMap((price) => (price?.later ?? []).map(({ fromMs }) => fromMs));
  return [...new Set(starts)].sort((one, other) => one - other);
}

/** The highest rate of each component, so that none of these prices costs more. Null if there is none. */
export function highestPrice(prices: readonly (Price | null)[]): Price | null {
  const known = prices.filter((price) => price !== null);
  if (known.length === 0) return null;
  const later = startsOf(known).map((fromMs) => ({
    fromMs,
    price: highestOf(known.map((price) => priceAt(price, fromMs))),
  }));
  return later.length === 0 ? highestOf(known) : { ...highestOf(known), later };
}

function highestOf(prices: readonly Price[]): Price {
  return { ...highestTokenPrice(prices), ...highestExtras(prices) };
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
  const highestInput = Math.max(
    rates.input,
    rates.cached_input,
    rates.cache_write,
    rates.cache_write_1h ?? 0,
    rates.cache_write_24h ?? 0,
  );
  const picoUsd: Rates["picoUsd"] = { ...price.extras, input: highestInput, output: rates.output };
  const calls = pricedCalls(requested?.calls ?? noCalls, picoUsd);
  const quantities = { ...requested?.units, ...calls, input: tokens.input, output: tokens.output };
  return costNano({ picoUsd, microUsdPerCredit }, quantities);
}

/** The rates above the highest limit of a long context that this much input exceeds; undefined for the usual rates. */
export function bandAt(price: TokenPrice, inputTokens: number): LongContext | undefined {
  return price.long_context === undefined
    ? undefined
    : bandsOf(price.long_context).findLast(({ above }) => inputTokens > above);
}

/** The rates for a call with this much input. */
function ratesAt(price: TokenPrice, inputTokens: number): TokenRates {
  return bandAt(price, inputTokens) ?? price;
}

/** Optional rates, and those that apply where one is missing. */
const optionalRates = [
  ["cache_write_1h", "cache_write"],
  ["cache_write_24h", "cache_write"],
] as const;

/** The highest of each rate, so that none of these costs more. */
function highestTokenRates(all: readonly TokenRates[]): TokenRates {
  const highest: { -readonly [Name in keyof TokenRates]: TokenRates[Name] } = {
    input: Math.max(...all.map((rates) => rates.input)),
    output: Math.max(...all.map((rates) => rates.output)),
    cached_input: Math.max(...all.map((rates) => rates.cached_input)),
    cache_write: Math.max(...all.map((rates) => rates.cache_write)),
  };
  for (const [name, otherwise] of optionalRates) {
    if (all.every((rates) => rates[name] === undefined)) continue;
    highest[name] = Math.max(...all.map((rates) => rates[name] ?? rates[otherwise]));
  }
  for (const name of otherTokens) {
    const known = all.flatMap((rates) => rates[name] ?? []);
    if (known.length > 0) highest[name] = Math.max(...known);
  }
  return highest;
}

/** The highest of several prices, with a band for each of their limits. */
function highestTokenPrice(prices: readonly TokenPrice[]): TokenPrice {
  const limits = prices.flatMap(({ long_context: long }) => bandsOf(long).map(({ above }) => above));
  const bands = [...new Set(limits)]
    .sort((one, other) => one - other)
    .map((above) => ({ above, ...highestTokenRates(prices.map((price) => ratesAt(price, above + 1))) }));
  return { ...highestTokenRates(prices), ...longContextOf(bands) };
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
  const rateOf = (name: OtherTokens, tokens = 0) =>
    tokens > 0 ? Math.max(price.extras?.[name] ?? 0, rates[name] ?? 0) : 0;
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
