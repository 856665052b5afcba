import type { TokenPrice, TokenRates } from "../base/money/token-price.ts";
import type { ExtraUsage } from "../base/usage/extra-usage.ts";
import type { Price } from "../config/settings.ts";
import { highestTokenPrice, highestTokenRates, ratesAt } from "./token-rates.ts";

/** Undefined if the tier has no price. Its name comes from a client or a provider, and may be "constructor". */
export function ownTierPrice({ tiers }: Price, tier: string): TokenPrice | undefined {
  return tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
}

/** The price of a tier, or the default price if it has none. Several together cost the highest rates among them. */
export function tierPrice(price: Price, tiers: readonly string[]): TokenPrice {
  if (tiers.length === 0) return price;
  const prices = tiers.flatMap((tier) => ownTierPrice(price, tier) ?? []);
  const [only = price] = prices;
  return prices.length > 1 ? highestTokenPrice(prices) : only;
}

/** The highest rates that may apply to a call with these extras: its tier's or the default, for text or audio. */
export function highestRates(price: Price, requested: ExtraUsage, inputTokens: number): TokenRates {
  const rates = highestTokenRates([
    ratesAt(price, inputTokens),
    ratesAt(tierPrice(price, requested.tiers), inputTokens),
  ]);
  const rateOf = (name: string, tokens = 0) => (tokens > 0 ? (price.extras?.[name] ?? 0) : 0);
  const { audioInputTokens, audioOutputTokens, imageInputTokens, imageOutputTokens } = requested;
  return {
    ...rates,
    input: Math.max(
      rates.input,
      rateOf("audio_input", audioInputTokens),
      rateOf("image_input", imageInputTokens),
    ),
    output: Math.max(
      rates.output,
      rateOf("audio_output", audioOutputTokens),
      rateOf("image_output", imageOutputTokens),
    ),
  };
}

/** The highest price of each extra among these. */
export function highestExtras(prices: readonly Price[]): Pick<Price, "extras" | "tiers"> {
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
