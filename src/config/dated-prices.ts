import { batchTier } from "../base/usage/usage.ts";
import type { ModelConfig, PriceConfig } from "./schema.ts";

/** One price, or several in the order of their days. */
export type PricesConfig = NonNullable<ModelConfig["price"]>;

export interface DatedPriceConfig extends PriceConfig {
  /** Missing for the first, which applies from ever. */
  readonly from?: string;
}

/** The prices of a model in the order of their days. */
export function priceList(prices: PricesConfig | undefined): readonly DatedPriceConfig[] {
  if (prices === undefined) return [];
  return Array.isArray(prices) ? prices : [prices];
}

/** Changes each of the prices; their days stay. */
export function mapPrices(
  prices: PricesConfig,
  change: (price: DatedPriceConfig) => DatedPriceConfig,
): PricesConfig {
  return Array.isArray(prices) ? prices.map(change) : change(prices);
}

/** Without the price of the provider's own batches: an entry of the configuration charges it for lines that run anywhere. */
export function withoutBatchPrice(price: PriceConfig): PriceConfig {
  const { tiers, ...usual } = price;
  if (tiers?.[batchTier] === undefined) return price;
  const { [batchTier]: _, ...others } = tiers;
  return Object.keys(others).length === 0 ? usual : { ...usual, tiers: others };
}

/** The first moment of a day, in milliseconds. */
export function startOfDay(day: string): number {
  return Date.parse(`${day}T00:00:00Z`);
}

export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** The price that applies on a day, without its own day. */
export function priceOn(prices: PricesConfig, day?: string): PriceConfig;
export function priceOn(prices: PricesConfig | undefined, day?: string): PriceConfig | undefined;
export function priceOn(prices: PricesConfig | undefined, day = today()): PriceConfig | undefined {
  const found = priceList(prices).findLast(({ from }) => from === undefined || from <= day);
  if (found?.from === undefined) return found;
  const { from: _, ...price } = found;
  return price;
}
