import { bandsOf } from "../../base/money/token-price.ts";
import { type PricesConfig, priceOn } from "../../config/dated-prices.ts";
import type { ModelConfig, PriceConfig } from "../../config/schema.ts";

/** From this factor on, a price is in another unit: per token, per thousand or per million. */
const otherUnit = 1000;

/** `{ input: 1, "tiers.flex.input": 0.5 }`: every rate of a price by its name, without limits in tokens. */
export function ratesOf(price: PriceConfig | undefined): ReadonlyMap<string, number> {
  return new Map(numbersIn(price ?? {}, "").filter(([name]) => !isLimit(name)));
}

/** All numbers of a price, limits too: two prices with the same numbers are the same. */
export function numbersOf(price: PricesConfig | undefined): ReadonlyMap<string, number> {
  return new Map(numbersIn(price ?? {}, ""));
}

function numbersIn(value: object, prefix: string): [string, number][] {
  return Object.entries(value).flatMap(([name, inner]): [string, number][] => {
    if (typeof inner === "number") return [[`${prefix}${name}`, inner]];
    return typeof inner === "object" && inner !== null ? numbersIn(inner, `${prefix}${name}.`) : [];
  });
}

function isLimit(name: string): boolean {
  return name === "above" || name.endsWith(".above");
}

/** The larger number divided by the smaller one; infinite if only one is 0. */
export function factorBetween(one: number, other: number): number {
  if (one === other) return 1;
  return Math.max(one, other) / Math.min(one, other);
}

/** Whether a rate is in another unit than this one. A price of 0 has no unit. */
export function isOtherUnit(usd: number, usual: number): boolean {
  return usd > 0 && usual > 0 && factorBetween(usd, usual) >= otherUnit;
}

export interface StrangeRate {
  readonly name: string;
  readonly usd: number;
}

/** A rate that is in another unit than with every other model of the vendor; null if there is none. */
export function strangeRate(others: readonly ModelConfig[], price: PriceConfig): StrangeRate | null {
  for (const [name, usd] of ratesOf(price)) {
    const usual = others
      .flatMap((other) => ratesOf(priceOn(other.price)).get(name) ?? [])
      .filter((each) => each > 0);
    if (usual.length > 0 && usual.every((each) => isOtherUnit(usd, each))) return { name, usd };
  }
  return null;
}

/** A contradiction within a price; null if the price is plausible. */
export function contradictionIn({ tiers = {}, ...price }: PriceConfig): string | null {
  const { input = 0, cached_input: cached = 0 } = price;
  if (cached > input && input > 0) return `cached_input ${cached} is more than input ${input}`;
  const low = bandsOf(price.long_context).find((band) => band.input < input);
  if (low !== undefined) return `long_context.input ${low.input} is less than input ${input}`;
  for (const [tier, rates] of Object.entries(tiers)) {
    if (input > 0 && rates.input > 0 && factorBetween(rates.input, input) > maxTierFactor)
      return `tiers.${tier}.input ${rates.input} is more than ${maxTierFactor} times off input ${input}`;
  }
  return null;
}

/** Vendors sell faster tiers at up to 6 times, and slower ones at half of the usual price. */
const maxTierFactor = 10;
