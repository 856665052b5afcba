import { allShippedModels } from "../../config/catalog/shipped.ts";
import { priceOn } from "../../config/dated-prices.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { plainName } from "./plain-name.ts";

/** The built-in list price of a model under any cloud's name for it, near enough to find a slip; null if there is none. */
export function shippedPrice(model: string): PriceConfig | null {
  prices ??= new Map(readPrices().toReversed());
  return prices.get(nameAnywhere(model)) ?? null;
}

function nameAnywhere(model: string): string {
  return plainName(model).replace(/^(?:us|eu|apac|au|jp|ca|us-gov)\./, "");
}

/** By the models' plain names. */
let prices: ReadonlyMap<string, PriceConfig> | null = null;

function readPrices(): [string, PriceConfig][] {
  return allShippedModels().flatMap(({ id, upstream_model: name = id, price }): [string, PriceConfig][] =>
    price === undefined ? [] : [[nameAnywhere(name), priceOn(price)]],
  );
}
