import { assert } from "../base/assert.ts";
import { picoUsdPerToken } from "../base/money/money.ts";
import { meteredUnits, type UnitName, unitNames } from "../base/money/rates.ts";
import {
  bandsOf,
  longContextOf,
  mapPrice,
  otherTokens,
  type TokenPrice,
  type TokenRates,
} from "../base/money/token-price.ts";
import { callPriceNames } from "../base/usage/hosted-tools.ts";
import { partsOf } from "./catalog/expand.ts";
import { type PricesConfig, priceList, startOfDay } from "./dated-prices.ts";
import type { TokenRatesConfig } from "./schema/price.ts";
import type { PriceConfig, TokenPriceConfig } from "./schema.ts";
import type { Price } from "./settings.ts";

/** The price of a model or a deployment, with those that replace it later; null if it has none. */
export function buildPrices(prices: PricesConfig | undefined, markup?: number): Price | null {
  const [first, ...later] = priceList(prices);
  if (first === undefined) return null;
  const price = buildPrice(first, markup);
  if (later.length === 0) return price;
  const laterPrices = later.flatMap(({ from, ...each }) =>
    from === undefined ? [] : [{ fromMs: startOfDay(from), price: buildPrice(each, markup) }],
  );
  return { ...price, later: laterPrices };
}

function buildPrice(price: PriceConfig, markup?: number): Price {
  const { input = 0, output = 0, tiers } = price;
  const extras = buildExtras(price);
  return {
    ...buildTokenPrice({ ...withoutOtherTokens(price), input, output }),
    ...(Object.keys(extras).length === 0 ? {} : { extras }),
    ...(tiers === undefined ? {} : { tiers: mapValues(tiers, buildTokenPrice) }),
    ...(price.input === undefined || price.output === undefined ? { names: Object.keys(price) } : {}),
    ...(markup === undefined || markup === 1 ? {} : { markupParts: partsOf(markup) }),
  };
}

/** Images may have a price for each quality and size; `*` is the price of all others. */
function buildExtras(price: PriceConfig): Record<string, number> {
  const extras: Record<string, number> = {};
  for (const name of otherTokens) {
    const usd = price[name];
    if (usd !== undefined) extras[name] = wholePico(usd);
  }
  for (const name of unitNames) {
    const writtenRate = price[name];
    const prices = typeof writtenRate === "number" ? { "*": writtenRate } : (writtenRate ?? {});
    for (const [variant, usd] of Object.entries(prices)) {
      extras[variant === "*" ? name : `${name}.${variant}`] = unitPico(name, usd);
    }
  }
  for (const name of callPriceNames) {
    const usdPerThousand = price[name];
    if (usdPerThousand !== undefined) extras[name] = wholePico(usdPerThousand) * 1000;
  }
  return extras;
}

/** `wholePico` expects USD per million, hence the factor. */
function unitPico(name: UnitName, usd: number): number {
  return wholePico(usd) * (1_000_000 / meteredUnits[name].per);
}

/** The extras have the usual prices of sound and images. */
function withoutOtherTokens(price: PriceConfig): PriceConfig {
  const kept = Object.entries(price).filter(([name]) => !otherTokenNames.has(name));
  // Only optional prices were left out.
  return Object.fromEntries(kept);
}

const otherTokenNames: ReadonlySet<string> = new Set(otherTokens);

function buildTokenPrice({ long_context: long, ...price }: TokenPriceConfig): TokenPrice {
  const bands = bandsOf(long).map((band) => ({ above: band.above, ...withDefaults(band) }));
  return mapPrice({ ...withDefaults(price), ...longContextOf(bands) }, wholePico);
}

function withDefaults({ input, ...others }: TokenRatesConfig): TokenRates {
  return { input, cached_input: input, cache_write: input, ...others };
}

function mapValues<From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To) {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
}

function wholePico(usdPerMillionTokens: number): number {
  const pico = picoUsdPerToken(usdPerMillionTokens);
  assert(pico !== null, "a price that passed the check is whole");
  return pico;
}
