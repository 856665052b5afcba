import { isToken, meteredUnits, unitOf } from "../base/money/rates.ts";
import { bandsOf } from "../base/money/token-price.ts";
import { oneUnit } from "../base/text/plural.ts";
import { type PricesConfig, priceList } from "../config/dated-prices.ts";
import type { ModelConfig, PriceConfig } from "../config/schema.ts";
import { shippedPrice } from "./import/shipped-prices.ts";
import { isOtherUnit, type StrangeRate, strangeRate } from "./prices/rates.ts";

/** A price that looks mistyped. `message` completes a sentence that starts with its location. */
export interface PriceWarning {
  /** Path within the model, such as `deployments[0].price.input`. */
  readonly path: string;
  readonly message: string;
  /** It is wrong by a factor of 1,000 or more, and so is every charge. */
  readonly isOtherUnit: boolean;
}

/** Vendors, regions and resellers differ in price, and lists become outdated, but not by this factor. */
const maxTimes = 20;

/** The models of the vendor behind a provider of the configuration; empty if its prices are unknown. */
export type VendorModels = (provider: string | undefined) => readonly ModelConfig[];

/** Compares a model's prices with the built-in list prices: its own, or else all of its vendor. */
export function lintPrices(
  model: ModelConfig,
  vendorModels: VendorModels = () => [],
): readonly PriceWarning[] {
  const lint = (prices: PricesConfig, path: string, names: readonly string[], provider: string | undefined) =>
    priceList(prices).flatMap(({ from: _, ...price }, place) =>
      lintPrice(price, Array.isArray(prices) ? `${path}[${place}]` : path, names, vendorModels(provider)),
    );
  const provider = model.provider ?? model.deployments?.[0]?.provider;
  const own = model.price === undefined ? [] : lint(model.price, "price", namesOf(model, model), provider);
  const others = (model.deployments ?? []).flatMap((deployment, index) =>
    deployment.price === undefined
      ? []
      : lint(
          deployment.price,
          `deployments[${index}].price`,
          namesOf(deployment, model),
          deployment.provider,
        ),
  );
  return [...own, ...others];
}

/** Names under which the model may be listed. Its own id comes last, because it can be anything. */
function namesOf(
  { family, upstream_model: name }: Pick<ModelConfig, "family" | "upstream_model">,
  model: ModelConfig,
): string[] {
  const first = model.deployments?.[0];
  const names = [
    family,
    name,
    model.family,
    model.upstream_model,
    first?.family,
    first?.upstream_model,
    model.id,
  ];
  return names.filter((each) => each !== undefined);
}

function lintPrice(
  price: PriceConfig,
  path: string,
  names: readonly string[],
  others: readonly ModelConfig[],
): readonly PriceWarning[] {
  const name = names.find((each) => shippedPrice(each) !== null);
  const listed = name === undefined ? null : shippedPrice(name);
  if (listed === null) {
    const strange = strangeRate(others, price);
    return strange === null ? lintUnlistedPrice(price, path) : [strangeWarning(strange, path)];
  }
  const { long_context: long, tiers = {}, images: _, requests: __, ...rates } = price;
  return [
    ...lintRates(rates, path, listed),
    ...bandsOf(long).flatMap((band, place) =>
      lintRates(
        band,
        Array.isArray(long) ? `${path}.long_context[${place}]` : `${path}.long_context`,
        bandsOf(listed.long_context)[place] ?? listed,
      ),
    ),
    ...Object.entries(tiers).flatMap(([tier, { long_context: ___, ...tierRates }]) =>
      lintRates(tierRates, `${path}.tiers.${tier}`, listed),
    ),
  ];
}

type Rates = Readonly<Record<string, number>>;

function lintRates(
  rates: Rates,
  path: string,
  listed: Readonly<Record<string, unknown>>,
): readonly PriceWarning[] {
  const list: Rates = Object.fromEntries(
    Object.entries(listed).filter((entry): entry is [string, number] => typeof entry[1] === "number"),
  );
  const swapped = swappable.find(([cheap, expensive]) => areSwapped(rates, list, cheap, expensive));
  if (swapped !== undefined) {
    const [cheap, expensive] = swapped;
    const message = `${cheap} and ${expensive} look swapped: the list price is ${list[cheap]} and ${list[expensive]}`;
    return [{ path, message, isOtherUnit: false }];
  }
  return Object.entries(rates).flatMap(([field, usd]) => {
    const usual = list[field] ?? 0;
    const message = usd === 0 || usual === 0 ? null : lintRate(usd, usual, unitFor(field));
    const isOff = isOtherUnit(usd, usual);
    return message === null ? [] : [{ path: `${path}.${field}`, message, isOtherUnit: isOff }];
  });
}

/** Pairs of rates that are easily swapped, the lower one first. */
const swappable = [
  ["input", "output"],
  ["cached_input", "input"],
  ["cached_input", "cache_write"],
  ["cache_write", "cache_write_1h"],
] as const;

function areSwapped(rates: Rates, listed: Rates, cheap: string, expensive: string): boolean {
  const [lower, higher] = [listed[cheap] ?? 0, listed[expensive] ?? 0];
  const [cheapUsd = 0, dearUsd = 0] = [rates[cheap], rates[expensive]];
  if (higher < lower * 1.5 || dearUsd >= cheapUsd) return false;
  return isNear(cheapUsd, higher) && isNear(dearUsd, lower);
}

function isNear(usd: number, list: number): boolean {
  return usd > list / 3 && usd < list * 3;
}

/** The unit of a price. */
interface PriceUnit {
  /** Such as "USD per million tokens". */
  readonly name: string;
  /** How many units the price is for. */
  readonly per: number;
  /** The name of one unit. */
  readonly unitName: string;
}

function unitFor(field: string): PriceUnit {
  if (isToken(field)) return { name: "USD per million tokens", per: 1_000_000, unitName: "token" };
  const unit = unitOf(field);
  if (unit === undefined) return { name: "USD per 1,000 calls", per: 1000, unitName: "call" };
  const { description, per } = meteredUnits[unit];
  const name = description.replace(/(?:, or .+)?\.$/, "");
  return { name, per, unitName: oneUnit(unit) };
}

/** Describes how a rate differs, as the most likely typing mistake. */
function lintRate(usd: number, list: number, { name, per, unitName }: PriceUnit): string | null {
  const times = usd / list;
  if (times >= 1 / maxTimes && times <= maxTimes) return null;
  const beginning = `is ${usd} ${name}, and the list price is ${list}`;
  if (per > 1 && isNear(times, 1 / per)) return `${beginning}; it looks like a price per ${unitName}`;
  if (per > 1000 && isNear(times, 1e-3)) return `${beginning}; it looks like a price per thousand`;
  return beginning;
}

/** No model costs less than a thousandth of a dollar for a million tokens. */
const lowest = 0.001;

function lintUnlistedPrice({ input = 0, output = 0 }: PriceConfig, path: string): readonly PriceWarning[] {
  return Object.entries({ input, output }).flatMap(([field, usd]) => {
    if (usd === 0 || usd >= lowest) return [];
    const message = `is ${usd} USD per million tokens; it looks like a price per token or per thousand`;
    return [{ path: `${path}.${field}`, message, isOtherUnit: false }];
  });
}

function strangeWarning({ name, usd }: StrangeRate, path: string): PriceWarning {
  const message = `is ${usd} ${unitFor(name).name}, which is 1,000 times or more off every price of its vendor`;
  return { path: `${path}.${name}`, message, isOtherUnit: true };
}
