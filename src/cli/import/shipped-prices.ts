import { allShippedModels } from "../../config/catalog/shipped.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { plainName } from "./plain-name.ts";

/** The built-in list price of a model under any cloud's name for it; null if there is none. */
export function shippedPrice(model: string): PriceConfig | null {
  prices ??= new Map(readPrices().toReversed());
  return prices.get(plainName(model)) ?? null;
}

/** By the models' plain names. */
let prices: ReadonlyMap<string, PriceConfig> | null = null;

function readPrices(): [string, PriceConfig][] {
  return allShippedModels().flatMap(({ id, upstream_model: name = id, price }): [string, PriceConfig][] =>
    price === undefined ? [] : [[plainName(name), price]],
  );
}
