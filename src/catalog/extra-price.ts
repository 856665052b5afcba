import type { ExtraUsage } from "../base/extra-usage.ts";
import { type HostedToolName, hostedToolNames } from "../base/hosted-tools.ts";
import type { Price, TokenPrice, TokenRates } from "../config/settings.ts";
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
export function highestRates(price: Price, asked: ExtraUsage, inputTokens: number): TokenRates {
  const rates = highestTokenRates([
    ratesAt(price, inputTokens),
    ratesAt(tierPrice(price, asked.tiers), inputTokens),
  ]);
  const audioInput = asked.audioInputTokens > 0 ? (price.audioInput ?? 0) : 0;
  const audioOutput = asked.audioOutputTokens > 0 ? (price.audioOutput ?? 0) : 0;
  const imageInput = (asked.imageInputTokens ?? 0) > 0 ? (price.imageInput ?? 0) : 0;
  const imageOutput = (asked.imageOutputTokens ?? 0) > 0 ? (price.imageOutput ?? 0) : 0;
  return {
    ...rates,
    input: Math.max(rates.input, audioInput, imageInput),
    output: Math.max(rates.output, audioOutput, imageOutput),
  };
}

/** The highest price of each extra among these. */
export function highestExtras(prices: readonly Price[]): Partial<Price> {
  const audioInput = highest(prices.map((price) => price.audioInput));
  const audioOutput = highest(prices.map((price) => price.audioOutput));
  const imageInput = highest(prices.map((price) => price.imageInput));
  const imageOutput = highest(prices.map((price) => price.imageOutput));
  const units: Record<string, number> = {};
  for (const name of new Set(prices.flatMap((price) => Object.keys(price.units ?? {})))) {
    units[name] = Math.max(...prices.map((price) => price.units?.[name] ?? 0));
  }
  const calls: { [Name in HostedToolName]?: number } = {};
  for (const name of hostedToolNames) {
    const most = highest(prices.map((price) => price.calls?.[name]));
    if (most !== undefined) calls[name] = most;
  }
  const tiers: Record<string, TokenPrice> = {};
  for (const name of new Set(prices.flatMap((price) => Object.keys(price.tiers ?? {})))) {
    tiers[name] = highestTokenPrice(prices.map((price) => tierPrice(price, [name])));
  }
  return {
    ...(audioInput === undefined ? {} : { audioInput }),
    ...(audioOutput === undefined ? {} : { audioOutput }),
    ...(imageInput === undefined ? {} : { imageInput }),
    ...(imageOutput === undefined ? {} : { imageOutput }),
    ...(Object.keys(units).length === 0 ? {} : { units }),
    ...(Object.keys(calls).length === 0 ? {} : { calls }),
    ...(Object.keys(tiers).length === 0 ? {} : { tiers }),
  };
}

function highest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
