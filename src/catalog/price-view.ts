import { isToken, meteredUnits, type UnitName, unitOf } from "../base/money/rates.ts";
import { bandsOf, mapPrice, type TokenPrice } from "../base/money/token-price.ts";
import type { Price } from "../config/settings.ts";
import { priceAt } from "./price.ts";

/** A price in the units of the configuration: USD per million tokens, and per thousand calls. Units and tools are in addition. */
export interface PriceInUsd extends TokenPrice {
  /** A model can have a price for each quality and size. */
  readonly images?: number | Readonly<Record<string, number>>;
  /** A model can have a fee for each size of a search. */
  readonly requests?: number | Readonly<Record<string, number>>;
  readonly tiers?: Readonly<Record<string, TokenPrice>>;
  /** The prices that replace it, by the day on which each begins. */
  readonly later?: Readonly<Record<string, PriceInUsd>>;
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

/** The price of a moment, with those that replace it later. */
export function announcedPriceInUsd(price: Price, atMs: number): PriceInUsd {
  const inForce = priceInUsd(priceAt(price, atMs));
  const later = (price.later ?? []).flatMap(({ fromMs, price: next }) =>
    fromMs > atMs ? [[new Date(fromMs).toISOString().slice(0, 10), priceInUsd(next)] as const] : [],
  );
  return later.length === 0 ? inForce : { ...inForce, later: Object.fromEntries(later) };
}

function tokenPriceInUsd(price: TokenPrice): TokenPrice {
  return mapPrice(price, (picoUsd) => picoUsd / picoPerMillionth);
}

function extrasInUsd(extras: NonNullable<Price["extras"]>): Record<string, number | Record<string, number>> {
  const prices: Record<string, number | Record<string, number>> = {};
  for (const [name, picoUsd] of Object.entries(extras)) {
    const unit = unitOf(name);
    if (unit === undefined) prices[name] = usdOf(name, picoUsd);
    else prices[unit] ??= unitInUsd(unit, extras);
  }
  return prices;
}

function unitInUsd(unit: UnitName, { [unit]: usual, ...extras }: Readonly<Record<string, number>>) {
  const variants = Object.entries(extras).filter(([name]) => name.startsWith(`${unit}.`));
  if (variants.length === 0) return usdOf(unit, usual ?? 0);
  const byName = variants.map(([name, picoUsd]) => [name.slice(unit.length + 1), usdOf(unit, picoUsd)]);
  return { ...Object.fromEntries(byName), ...(usual === undefined ? {} : { "*": usdOf(unit, usual) }) };
}

function usdOf(name: string, picoUsd: number): number {
  const unit = unitOf(name);
  if (unit !== undefined) return (picoUsd * meteredUnits[unit].per) / picoPerUsd;
  return picoUsd / (isToken(name) ? picoPerMillionth : picoPerThousandth);
}

function tierPricesInUsd(tiers: NonNullable<Price["tiers"]>): Record<string, TokenPrice> {
  return Object.fromEntries(Object.entries(tiers).map(([name, rates]) => [name, tokenPriceInUsd(rates)]));
}

/** `input 4 → 5`: the rates that differ, in the names and units of the configuration. */
export function priceDifferences(before: PriceInUsd | null, after: PriceInUsd | null): string[] {
  const [old, next] = [ratesOf(before), ratesOf(after)];
  const names = new Set([...Object.keys(old), ...Object.keys(next)]);
  return [...names].flatMap((name) =>
    old[name] === next[name] ? [] : [`${name} ${old[name] ?? "none"} → ${next[name] ?? "none"}`],
  );
}

/** `{ input: 1, "tiers.flex.input": 0.5 }`. */
function ratesOf(price: PriceInUsd | null): Record<string, number> {
  return price === null ? {} : Object.fromEntries(flattened(price, ""));
}

function flattened(value: object, prefix: string): [string, number][] {
  return Object.entries(value).flatMap(([name, inner]): [string, number][] => {
    if (name === "later" && prefix === "") return [];
    return typeof inner === "number" ? [[`${prefix}${name}`, inner]] : flattened(inner, `${prefix}${name}.`);
  });
}

const tokenRates: ReadonlySet<string> = new Set([
  ...["input", "output", "cached_input", "cache_write", "cache_write_1h", "cache_write_24h"],
]);

/** Everything with a price in addition to plain tokens, e.g. `web_search 10` and `tier flex`. */
export function describeExtras(price: PriceInUsd): string[] {
  const extras: string[] = [];
  for (const [name, usd] of Object.entries(price)) {
    if (typeof usd === "number" && !tokenRates.has(name)) extras.push(`${name} ${usd}`);
  }
  for (const unit of ["images", "requests"] as const)
    for (const [size, usd] of Object.entries(price[unit] ?? {})) extras.push(`${unit} ${size} ${usd}`);
  for (const { above, input, output } of bandsOf(price.long_context))
    extras.push(`above ${above} tokens ${input} and ${output}`);
  for (const tier of Object.keys(price.tiers ?? {})) extras.push(`tier ${tier}`);
  for (const [day, next] of Object.entries(price.later ?? {}))
    extras.push(`from ${day}: ${priceDifferences(price, next).join(", ")}`);
  return extras;
}
