import shippedModels from "../../../config/models.toml" with { type: "text" };
import { isObject, type JsonObject } from "../../base/json.ts";
import type { ImportedPrice, ImportedRates, ImportedTier } from "./imported.ts";
import { plainName } from "./plain-name.ts";

/** The list price of a model, by the name that any cloud has for it; null if it is not shipped. */
export function shippedPrice(model: string): ImportedPrice | null {
  prices ??= new Map(readPrices().toReversed());
  return prices.get(plainName(model)) ?? null;
}

/** By the models' plain names. Read when it is first needed, which is never while serving. */
let prices: ReadonlyMap<string, ImportedPrice> | null = null;

function readPrices(): [string, ImportedPrice][] {
  const document: unknown = Bun.TOML.parse(shippedModels);
  const models = isObject(document) && Array.isArray(document["models"]) ? document["models"] : [];
  return models.filter(isObject).flatMap((model): [string, ImportedPrice][] => {
    const name = model["upstream_model"] ?? model["id"];
    return typeof name === "string" && isObject(model["price"])
      ? [[plainName(name), priceOf(model["price"])]]
      : [];
  });
}

function priceOf(price: JsonObject): ImportedPrice {
  const { input, output, cached_input, cache_write, cache_write_1h, long_context, tiers, ...others } = price;
  const extras = Object.entries(others).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return {
    ...ratesOf({ input, output, cached_input, cache_write, cache_write_1h } as JsonObject),
    ...(extras.length === 0 ? {} : { extras: Object.fromEntries(extras) }),
    ...(isObject(long_context)
      ? { longContext: { above: Number(long_context["above"]), ...ratesOf(long_context) } }
      : {}),
    ...(isObject(tiers) ? { tiers: tiersOf(tiers) } : {}),
  };
}

function tiersOf(tiers: JsonObject): Record<string, ImportedTier> {
  return Object.fromEntries(
    Object.entries(tiers).flatMap(([name, tier]) => (isObject(tier) ? [[name, ratesOf(tier)]] : [])),
  );
}

function ratesOf(rates: JsonObject): ImportedRates {
  const rate = (name: string) => (typeof rates[name] === "number" ? rates[name] : null);
  return {
    input: Number(rates["input"]),
    output: Number(rates["output"]),
    cachedInput: rate("cached_input"),
    cacheWrite: rate("cache_write"),
    cacheWriteHour: rate("cache_write_1h"),
  };
}
