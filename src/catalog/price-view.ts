import { isToken, meteredUnits, unitOf } from "../base/money/rates.ts";
import { mapPrice, type TokenPrice } from "../base/money/token-price.ts";
import type { Price } from "../config/settings.ts";

/** A price in the units of the configuration: USD per million tokens, and per thousand calls. Units and tools are in addition. */
export interface PriceInUsd extends TokenPrice {
  /** They may have a price for each quality and size. */
  readonly images?: number | Readonly<Record<string, number>>;
  readonly tiers?: Readonly<Record<string, TokenPrice>>;
}

const picoPerMillionth = 1_000_000;
const picoPerThousandth = 1_000_000_000;
const picoPerUsd = 1_000_000_000_000;

export function priceInUsd(price: Price): PriceInUsd {
  const { extras, tiers } = price;
  return {
    ...tokenPriceInUsd(price),
    ...(extras === undefined ? {} : extrasInUsd(extras)),
    ...(tiers === undefined ? {} : { tiers: tierPricesInUsd(tiers) }),
  };
}

function tokenPriceInUsd(price: TokenPrice): TokenPrice {
  return mapPrice(price, (picoUsd) => picoUsd / picoPerMillionth);
}

function extrasInUsd(extras: NonNullable<Price["extras"]>): Record<string, number | Record<string, number>> {
  const prices: Record<string, number | Record<string, number>> = {};
  for (const [name, picoUsd] of Object.entries(extras)) {
    if (unitOf(name) === "images") prices["images"] ??= imagesInUsd(extras);
    else prices[name] = usdOf(name, picoUsd);
  }
  return prices;
}

function imagesInUsd({ images: usual, ...extras }: Readonly<Record<string, number>>) {
  const variants = Object.entries(extras).filter(([name]) => name.startsWith("images."));
  if (variants.length === 0) return usdOf("images", usual ?? 0);
  const bySize = variants.map(([name, picoUsd]) => [name.slice("images.".length), usdOf("images", picoUsd)]);
  return { ...Object.fromEntries(bySize), ...(usual === undefined ? {} : { "*": usdOf("images", usual) }) };
}

function usdOf(name: string, picoUsd: number): number {
  const unit = unitOf(name);
  if (unit !== undefined) return (picoUsd * meteredUnits[unit].per) / picoPerUsd;
  return picoUsd / (isToken(name) ? picoPerMillionth : picoPerThousandth);
}

function tierPricesInUsd(tiers: NonNullable<Price["tiers"]>): Record<string, TokenPrice> {
  return Object.fromEntries(Object.entries(tiers).map(([name, rates]) => [name, tokenPriceInUsd(rates)]));
}

const tokenRates: ReadonlySet<string> = new Set([
  ...["input", "output", "cached_input", "cache_write", "cache_write_1h"],
]);

/** Everything with a price in addition to plain tokens, e.g. `web_search 10` and `tier flex`. */
export function describeExtras(price: PriceInUsd): string[] {
  const extras: string[] = [];
  for (const [name, usd] of Object.entries(price)) {
    if (typeof usd === "number" && !tokenRates.has(name)) extras.push(`${name} ${usd}`);
  }
  for (const [size, usd] of Object.entries(price.images ?? {})) extras.push(`images ${size} ${usd}`);
  const { long_context: long } = price;
  if (long !== undefined) extras.push(`above ${long.above} tokens ${long.input} and ${long.output}`);
  for (const tier of Object.keys(price.tiers ?? {})) extras.push(`tier ${tier}`);
  return extras;
}
