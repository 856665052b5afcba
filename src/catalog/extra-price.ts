import { type ExtraUsage, noCalls } from "../base/extra-usage.ts";
import { type HostedToolName, hostedToolNames, type ToolCalls } from "../base/hosted-tools.ts";
import { totalInput, type Usage } from "../base/usage.ts";
import type { Price, TokenPrice, TokenRates } from "../config/settings.ts";
import { highestTokenPrice, highestTokenRates, hourWriteRate, ratesAt } from "./token-rates.ts";

/** Undefined if the tier has no price. Its name comes from a client or a provider, and may be "constructor". */
export function ownTierPrice({ tiers }: Price, tier: string): TokenPrice | undefined {
  return tiers !== undefined && Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
}

/** The price of a tier, or the default price if it has none. Several together cost the highest rates among them. */
function tierPrice(price: Price, tiers: readonly string[]): TokenPrice {
  const prices = tiers.flatMap((tier) => ownTierPrice(price, tier) ?? []);
  const [only = price] = prices;
  return prices.length > 1 ? highestTokenPrice(prices) : only;
}

/** The cost of a call in pico-USD, before rounding. Audio tokens are part of the token counts in `usage`. */
export function exactPicoUsd(usage: Usage, price: Price, extra: ExtraUsage | null): bigint {
  const rates = ratesAt(tierPrice(price, extra?.tiers ?? []), totalInput(usage));
  const { audioInput = rates.input, audioOutput = rates.output } = price;
  const audioIn = Math.min(extra?.audioInputTokens ?? 0, usage.inputTokens);
  const audioOut = Math.min(extra?.audioOutputTokens ?? 0, usage.outputTokens);
  const hourWrites = Math.min(usage.cacheWriteHourTokens ?? 0, usage.cacheWriteTokens);
  return (
    product(usage.inputTokens - audioIn, rates.input) +
    product(audioIn, audioInput) +
    product(usage.cachedInputTokens, rates.cachedInput) +
    product(usage.cacheWriteTokens - hourWrites, rates.cacheWrite) +
    product(hourWrites, hourWriteRate(rates)) +
    product(usage.outputTokens - audioOut, rates.output) +
    product(audioOut, audioOutput) +
    callsPicoUsd(extra?.calls ?? noCalls, price)
  );
}

function callsPicoUsd(calls: ToolCalls, price: Price): bigint {
  let sum = 0n;
  for (const name of hostedToolNames) sum += product(calls[name] ?? 0, price.calls?.[name] ?? 0);
  return sum;
}

function product(count: number, picoUsd: number): bigint {
  return BigInt(count) * BigInt(picoUsd);
}

/** The highest rates that may apply to a call with these extras: its tier's or the default, for text or audio. */
export function highestRates(price: Price, asked: ExtraUsage, inputTokens: number): TokenRates {
  const rates = highestTokenRates([
    ratesAt(price, inputTokens),
    ratesAt(tierPrice(price, asked.tiers), inputTokens),
  ]);
  const audioInput = asked.audioInputTokens > 0 ? (price.audioInput ?? 0) : 0;
  const audioOutput = asked.audioOutputTokens > 0 ? (price.audioOutput ?? 0) : 0;
  return {
    ...rates,
    input: Math.max(rates.input, audioInput),
    output: Math.max(rates.output, audioOutput),
  };
}

/** The highest price of each extra among these. */
export function highestExtras(prices: readonly Price[]): Partial<Price> {
  const audioInput = highest(prices.map((price) => price.audioInput));
  const audioOutput = highest(prices.map((price) => price.audioOutput));
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
    ...(Object.keys(calls).length === 0 ? {} : { calls }),
    ...(Object.keys(tiers).length === 0 ? {} : { tiers }),
  };
}

function highest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}
