import type { ExtraUsage } from "../base/extra-usage.ts";
import { nanoFromPicoUsd } from "../base/money.ts";
import type { Usage } from "../base/usage.ts";
import type { ModelSettings, Price } from "../config/settings.ts";
import { highestExtras, highestRates, picoUsdWithExtras } from "./extra-price.ts";

/** The price that clients are told; null for a model that costs nothing. */
export function publishedPrice(model: ModelSettings): Price | null {
  return model.price ?? model.deployments[0]?.price ?? null;
}

/** The most of each component, so that no choice among these prices costs more. Null when none has a price. */
export function dearestPrice(prices: readonly (Price | null)[]): Price | null {
  const known = prices.filter((price) => price !== null);
  if (known.length === 0) return null;
  return {
    input: Math.max(...known.map((price) => price.input)),
    output: Math.max(...known.map((price) => price.output)),
    cachedInput: Math.max(...known.map((price) => price.cachedInput)),
    cacheWrite: Math.max(...known.map((price) => price.cacheWrite)),
    ...highestExtras(known),
  };
}

/** What a call really costs, in nano-credits. Exact up to the one rounding at the end, which goes up. */
export function cost(
  usage: Usage,
  price: Price | null,
  microUsdPerCredit: number,
  extra: ExtraUsage | null = null,
): number {
  if (price === null) return 0;
  if (extra !== null) return nanoFromPicoUsd(picoUsdWithExtras(usage, price, extra), microUsdPerCredit);
  const picoUsd =
    usage.inputTokens * price.input +
    usage.cachedInputTokens * price.cachedInput +
    usage.cacheWriteTokens * price.cacheWrite +
    usage.outputTokens * price.output;
  // No term is below 0, so a sum that a double holds exactly was exact at every step.
  if (Number.isSafeInteger(picoUsd)) return nanoFromPicoUsd(picoUsd, microUsdPerCredit);
  const exactPicoUsd =
    BigInt(usage.inputTokens) * BigInt(price.input) +
    BigInt(usage.cachedInputTokens) * BigInt(price.cachedInput) +
    BigInt(usage.cacheWriteTokens) * BigInt(price.cacheWrite) +
    BigInt(usage.outputTokens) * BigInt(price.output);
  return nanoFromPicoUsd(exactPicoUsd, microUsdPerCredit);
}

export interface HoldTokens {
  readonly input: number;
  readonly output: number;
}

/**
 * What to set aside before a call: nano-credits for a credit key, tokens for a token-budget key. How much
 * of the input will come from or go to a cache is not known yet, so all of it is held at the dearest rate.
 */
export function holdAmount(
  mode: "credit" | "token_budget",
  tokens: HoldTokens,
  price: Price | null,
  microUsdPerCredit: number,
  asked: ExtraUsage | null = null,
): number {
  if (mode === "token_budget") return tokens.input + tokens.output;
  if (price === null) return 0;
  const rates = asked === null ? price : highestRates(price, asked);
  const dearest = Math.max(rates.input, rates.cachedInput, rates.cacheWrite);
  const usage = {
    inputTokens: tokens.input,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: tokens.output,
    reasoningTokens: 0,
  };
  const { cachedInput, cacheWrite, output } = rates;
  const held = { input: dearest, cachedInput, cacheWrite, output };
  if (asked === null) return cost(usage, held, microUsdPerCredit);
  return cost(usage, { ...held, calls: price.calls ?? {} }, microUsdPerCredit, asked);
}
