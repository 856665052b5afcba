import type { ModelUse } from "../../base/models/model-uses.ts";
import type { TokenRatesConfig } from "../../config/schema/price.ts";
import type { PriceConfig } from "../../config/schema.ts";

/** A model in a foreign price file, with its price in our format. */
export interface ImportedModel {
  readonly id: string;
  /** As the file names it. */
  readonly vendor: string;
  readonly displayName: string | null;
  readonly contextWindow: number | null;
  readonly maxOutputTokens: number | null;
  /** Absent for an LLM. */
  readonly serves?: ModelUse;
  readonly price: PriceConfig;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

/** The prices that a file states, without those that are null. */
export function definedPrices<Name extends string>(
  prices: Readonly<Record<Name, number | null>>,
): { readonly [Stated in Name]?: number } {
  const known = Object.entries(prices).filter(([, usd]) => usd !== null);
  // Only names were left out.
  return Object.fromEntries(known) as { [Stated in Name]?: number };
}

/** The token rates; null unless both input and output have one. */
export function tokenRates(rates: Readonly<Record<RateName, number | null>>): TokenRatesConfig | null {
  const { input, output, ...cache } = rates;
  return input === null || output === null ? null : { input, output, ...definedPrices(cache) };
}

type RateName = "input" | "output" | "cached_input" | "cache_write";

export interface ImportedPrices {
  readonly source: "LiteLLM" | "models.dev";
  readonly models: readonly ImportedModel[];
  /** Counts of skipped entries, by the reason. */
  readonly leftOut: Readonly<Record<string, number>>;
}

/** Rounded to six decimals, which is what our prices allow. Foreign files are full of 1.2500000000000001e-06. */
export function usdPerMillion(value: unknown, timesMillion: boolean): number | null {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return null;
  return Math.round(value * (timesMillion ? 1e12 : 1e6)) / 1e6;
}

export function positiveInteger(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/** A capability, if the file mentions it. If not, it is left open, and the gateway goes by the model's name. */
export function statedCapability(capability: string, value: unknown): Record<string, boolean> {
  return typeof value === "boolean" ? { [capability]: value } : {};
}
