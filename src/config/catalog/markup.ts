import { isObject, type JsonObject } from "../../base/json.ts";
import type { PriceConfig } from "../schema.ts";

/** Prices have at most six decimals, a markup at most four: so both are whole numbers, and their product is exact. */
const microUsd = 1_000_000;
const markupParts = 10_000;

export function isMarkup(markup: number): boolean {
  return Math.abs(markup * markupParts - Math.round(markup * markupParts)) < 1e-6;
}

/** Multiplies every rate of a list price by a markup, rounded up to a millionth of a dollar. Limits in tokens stay. */
export function markUp(price: PriceConfig, markup: number): PriceConfig {
  // The cast holds because numbers are replaced by numbers.
  return markup === 1
    ? price
    : (markedUp(price as JsonObject, Math.round(markup * markupParts)) as PriceConfig);
}

function markedUp(rates: JsonObject, parts: number): JsonObject {
  const entries = Object.entries(rates).map(([name, rate]) => {
    if (isObject(rate)) return [name, markedUp(rate, parts)];
    const isRate = typeof rate === "number" && name !== "above";
    return [name, isRate ? Math.ceil((Math.round(rate * microUsd) * parts) / markupParts) / microUsd : rate];
  });
  return Object.fromEntries(entries);
}
