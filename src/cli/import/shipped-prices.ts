import shippedModels from "../../../config/models.toml" with { type: "text" };
import { isObject } from "../../base/json.ts";
import type { PriceConfig } from "../../config/schema.ts";
import { plainName } from "./plain-name.ts";

/** The list price of a model, by the name that any cloud has for it; null if it is not shipped. */
export function shippedPrice(model: string): PriceConfig | null {
  prices ??= new Map(readPrices().toReversed());
  return prices.get(plainName(model)) ?? null;
}

/** By the models' plain names. Read when it is first needed, which is never while serving. */
let prices: ReadonlyMap<string, PriceConfig> | null = null;

function readPrices(): [string, PriceConfig][] {
  const document: unknown = Bun.TOML.parse(shippedModels);
  const models = isObject(document) && Array.isArray(document["models"]) ? document["models"] : [];
  return models.filter(isObject).flatMap((model): [string, PriceConfig][] => {
    const name = model["upstream_model"] ?? model["id"];
    return typeof name === "string" && isObject(model["price"]) ? [[plainName(name), model["price"]]] : [];
  });
}
