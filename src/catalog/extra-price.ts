import type { ExtraUsage } from "../base/extra-usage.ts";
import { type HostedToolName, hostedToolNames, type ToolCalls } from "../base/hosted-tools.ts";
import type { Usage } from "../base/usage.ts";
import type { Price, TokenPrice } from "../config/settings.ts";

/** The rates of a tier, or the default rates if it has none. */
export function ratesOf(price: Price, tier: string | null): TokenPrice {
  return (tier === null ? undefined : price.tiers?.[tier]) ?? price;
}

/** The cost of a call with extras in pico-USD, before rounding. Audio tokens are part of the token counts in `usage`. */
export function picoUsdWithExtras(usage: Usage, price: Price, extra: ExtraUsage): bigint {
  const rates = ratesOf(price, extra.tier);
  const { audioInput = rates.input, audioOutput = rates.output } = price;
  const audioIn = Math.min(extra.audioInputTokens, usage.inputTokens);
  const audioOut = Math.min(extra.audioOutputTokens, usage.outputTokens);
  return (
    product(usage.inputTokens - audioIn, rates.input) +
    product(audioIn, audioInput) +
    product(usage.cachedInputTokens, rates.cachedInput) +
    product(usage.cacheWriteTokens, rates.cacheWrite) +
    product(usage.outputTokens - audioOut, rates.output) +
    product(audioOut, audioOutput) +
    callsPicoUsd(extra.calls, price)
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
export function highestRates(price: Price, asked: ExtraUsage): TokenPrice {
  const tier = ratesOf(price, asked.tier);
  const audioInput = asked.audioInputTokens > 0 ? (price.audioInput ?? 0) : 0;
  const audioOutput = asked.audioOutputTokens > 0 ? (price.audioOutput ?? 0) : 0;
  return {
    input: Math.max(price.input, tier.input, audioInput),
    output: Math.max(price.output, tier.output, audioOutput),
    cachedInput: Math.max(price.cachedInput, tier.cachedInput),
    cacheWrite: Math.max(price.cacheWrite, tier.cacheWrite),
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
    const rates = prices.map((price) => ratesOf(price, name));
    tiers[name] = {
      input: Math.max(...rates.map((rate) => rate.input)),
      output: Math.max(...rates.map((rate) => rate.output)),
      cachedInput: Math.max(...rates.map((rate) => rate.cachedInput)),
      cacheWrite: Math.max(...rates.map((rate) => rate.cacheWrite)),
    };
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
