import { isObject } from "../../../src/base/json.ts";
import { bandsOf, longContextOf } from "../../../src/base/money/token-price.ts";
import { callPriceNames } from "../../../src/base/usage/hosted-tools.ts";
import { factorBetween, ratesOf } from "../../../src/cli/prices/rates.ts";
import type { PriceConfig } from "../../../src/config/schema.ts";

/** A rate that changes by more must be accepted explicitly. */
export const maxFactor = 3;

export interface PriceChange {
  readonly price: PriceConfig;
  /** `input 2 → 3`, `tiers.batch.input 1` or `without cached_input`. */
  readonly details: readonly string[];
  /** The largest change of a rate. */
  readonly factor: number;
}

/**
 * The price of a list in place of an older one. Everything that lists state is the list's: a rate that it does not have is
 * not kept from an older price. Lists don't state all prices of calls, so these stay.
 */
export function changeOf(before: PriceConfig, listed: PriceConfig): PriceChange {
  const calls = Object.entries(before).filter(([name]) => callNames.has(name) && !isReplaced(name, listed));
  const price: PriceConfig = { ...withoutZeros(withoutUsualImages(listed)), ...Object.fromEntries(calls) };
  const [old, next] = [ratesOf(before), ratesOf(price)];
  const both = [...next].flatMap(([name, usd]) => {
    const former = old.get(name);
    return former === undefined || former === usd ? [] : [{ name, former, usd }];
  });
  const added = [...next].flatMap(([name, usd]) => (old.has(name) ? [] : [`${name} ${usd}`]));
  const gone = [...old.keys()].filter((name) => !next.has(name)).map((name) => `without ${name}`);
  const changed = both.map(({ name, former, usd }) => `${name} ${former} → ${usd}`);
  return {
    price,
    details: [...changed, ...added, ...gone],
    factor: both.reduce((highest, { former, usd }) => Math.max(highest, factorBetween(former, usd)), 1),
  };
}

/** Without the bands that a model's window does not reach. */
export function reachable(price: PriceConfig, window = Number.POSITIVE_INFINITY): PriceConfig {
  const { tiers, ...usual } = price;
  const kept = Object.entries(tiers ?? {}).map(([tier, rates]) => [tier, withoutBands(rates, window)]);
  return {
    ...withoutBands(usual, window),
    ...(tiers === undefined ? {} : { tiers: Object.fromEntries(kept) }),
  };
}

function withoutBands<Rates extends Pick<PriceConfig, "long_context">>(rates: Rates, window: number): Rates {
  const { long_context: long, ...others } = rates;
  const bands = bandsOf(long).filter(({ above }) => above < window);
  // The cast holds because only an optional field has changed.
  return { ...others, ...longContextOf(bands) } as Rates;
}

/** Whether a list has nothing but zeros for a model that costs something. */
export function isFreeOnly(listed: PriceConfig): boolean {
  return [...ratesOf(listed).values()].every((usd) => usd === 0);
}

/** A price of images that is the price of any input has no effect. */
function withoutUsualImages({ image_input: image, ...price }: PriceConfig): PriceConfig {
  return image === undefined || image === price.input ? price : { ...price, image_input: image };
}

const callNames: ReadonlySet<string> = new Set(callPriceNames);

/** Searches are charged by the prompt or by the call, never both. */
function isReplaced(name: string, listed: PriceConfig): boolean {
  const isSearch = name.startsWith("web_search");
  return name in listed || (isSearch && ("web_search" in listed || "web_search_prompts" in listed));
}

/** Lists have zeros for what a model is not charged by. */
function withoutZeros<Rates extends object>(rates: Rates): Rates {
  const charged = Object.entries(rates).flatMap(([name, rate]: [string, unknown]) => {
    if (isObject(rate)) return [[name, withoutZeros(rate)]];
    return rate === 0 && name !== "input" && name !== "output" ? [] : [[name, rate]];
  });
  // Only optional rates were left out.
  return Object.fromEntries(charged) as Rates;
}
