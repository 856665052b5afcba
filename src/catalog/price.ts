import type { ExtraUsage } from "../base/extra-usage.ts";
import { nanoFromPicoUsd } from "../base/money.ts";
import type { Usage } from "../base/usage.ts";
import type { ModelSettings, Price } from "../config/settings.ts";
import { exactPicoUsd, highestExtras, highestRates } from "./extra-price.ts";
import { highestTokenPrice, hourWriteRate, ratesAt } from "./token-rates.ts";

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

/** The cost of a call in nano-credits: exact, and rounded up once at the end. */
export function cost(
  usage: Usage,
  price: Price | null,
  microUsdPerCredit: number,
  extra: ExtraUsage | null = null,
): number {
  if (price === null) return 0;
  if (extra !== null || price.longContext !== undefined || usage.cacheWriteHourTokens !== undefined) {
    return nanoFromPicoUsd(exactPicoUsd(usage, price, extra), microUsdPerCredit);
  }
  const picoUsd =
    usage.inputTokens * price.input +
    usage.cachedInputTokens * price.cachedInput +
    usage.cacheWriteTokens * price.cacheWrite +
    usage.outputTokens * price.output;
  // No term is negative, so if the sum is a safe integer, every step was exact.
  if (Number.isSafeInteger(picoUsd)) return nanoFromPicoUsd(picoUsd, microUsdPerCredit);
  return nanoFromPicoUsd(exactPicoUsd(usage, price, null), microUsdPerCredit);
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
  asked: ExtraUsage | null = null,
): number {
  if (mode === "token_budget") return tokens.input + tokens.output;
  if (price === null) return 0;
  const rates = asked === null ? ratesAt(price, tokens.input) : highestRates(price, asked, tokens.input);
  const highestInput = Math.max(rates.input, rates.cachedInput, rates.cacheWrite, hourWriteRate(rates));
  const usage = {
    inputTokens: tokens.input,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: tokens.output,
    reasoningTokens: 0,
  };
  const { cachedInput, cacheWrite, output } = rates;
  const held = { input: highestInput, cachedInput, cacheWrite, output };
  if (asked === null) return cost(usage, held, microUsdPerCredit);
  return cost(usage, { ...held, calls: price.calls ?? {} }, microUsdPerCredit, asked);
}
