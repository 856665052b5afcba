import type { HostedToolName } from "../base/hosted-tools.ts";
import { meteredUnits, type UnitName, unitOf } from "../base/metered-units.ts";
import { isToken } from "../base/rates.ts";
import type { Price, TokenPrice, TokenRates } from "../config/settings.ts";

/** A price with the names and units of the configuration: USD per million tokens, and per thousand calls. */
export interface PriceInUsd extends TokenPriceInUsd, ToolPricesInUsd, UnitPricesInUsd {
  readonly audio_input?: number;
  readonly audio_output?: number;
  readonly image_input?: number;
  readonly image_output?: number;
  readonly tiers?: Readonly<Record<string, TokenPriceInUsd>>;
}

/** Images may have a price for each quality and size. */
type UnitPricesInUsd = { readonly [Name in Exclude<UnitName, "images">]?: number } & {
  readonly images?: number | Record<string, number>;
};

type ToolPricesInUsd = { readonly [Name in HostedToolName]?: number };

export interface TokenPriceInUsd {
  readonly input: number;
  readonly output: number;
  readonly cached_input: number;
  readonly cache_write: number;
  readonly cache_write_1h?: number;
  readonly long_context?: TokenPriceInUsd & { readonly above: number };
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

function tokenPriceInUsd(price: TokenPrice): TokenPriceInUsd {
  const { longContext: long } = price;
  const rates = ratesInUsd(price);
  return long === undefined ? rates : { ...rates, long_context: { above: long.above, ...ratesInUsd(long) } };
}

function ratesInUsd({ input, output, cachedInput, cacheWrite, cacheWriteHour }: TokenRates): TokenPriceInUsd {
  return {
    input: input / picoPerMillionth,
    output: output / picoPerMillionth,
    cached_input: cachedInput / picoPerMillionth,
    cache_write: cacheWrite / picoPerMillionth,
    ...(cacheWriteHour === undefined ? {} : { cache_write_1h: cacheWriteHour / picoPerMillionth }),
  };
}

function extrasInUsd(extras: NonNullable<Price["extras"]>): Partial<PriceInUsd> {
  const prices: Record<string, number | Record<string, number>> = {};
  for (const [name, picoUsd] of Object.entries(extras)) {
    if (unitOf(name) === "images") prices["images"] ??= imagesInUsd(extras);
    else prices[name] = usdOf(name, picoUsd);
  }
  // Only images have prices by quality and size.
  return prices as Partial<PriceInUsd>;
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

function tierPricesInUsd(tiers: NonNullable<Price["tiers"]>): Record<string, TokenPriceInUsd> {
  return Object.fromEntries(Object.entries(tiers).map(([name, rates]) => [name, tokenPriceInUsd(rates)]));
}

const tokenRates: ReadonlySet<string> = new Set([
  ...["input", "output", "cached_input", "cache_write", "cache_write_1h"],
]);

/** Everything that has a price beside plain tokens, e.g. `web_search 10` and `tier flex`. */
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
