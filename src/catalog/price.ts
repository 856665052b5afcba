import { costNano } from "../base/money/rates.ts";
import type { ExtraUsage } from "../base/usage/extra-usage.ts";
import type { ModelSettings, Price } from "../config/settings.ts";
import { highestExtras, highestRates } from "./extra-price.ts";
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
  const picoUsd = { ...price.extras, input: highestInput, output: rates.output };
  const quantities = { ...requested?.units, ...requested?.calls, input: tokens.input, output: tokens.output };
  return costNano({ picoUsd, microUsdPerCredit }, quantities);
}
