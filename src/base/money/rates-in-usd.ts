import { isToken, meteredUnits, type Rates, unitOf } from "./rates.ts";

const picoPerMillionth = 1_000_000;
const picoPerThousandth = 1_000_000_000;
const picoPerUsd = 1_000_000_000_000;

/** Rates as operators write prices. */
export interface RatesInUsd {
  readonly usd_per_credit: number;
  readonly tiers?: string[];
  readonly input_above?: number;
  readonly [name: string]: unknown;
}

/** The rates in USD per million tokens, per thousand calls, or per unit, by the configuration's names. */
export function ratesInUsd({ picoUsd, microUsdPerCredit, tiers, inputAbove }: Rates): RatesInUsd {
  const usd = Object.entries(picoUsd).map(([name, pico]) => [name, pico / rateUnit(name).pico] as const);
  return {
    ...Object.fromEntries(usd),
    usd_per_credit: microUsdPerCredit / 1_000_000,
    ...(tiers.length === 0 ? {} : { tiers: [...tiers] }),
    ...(inputAbove === null ? {} : { input_above: inputAbove }),
  };
}

/** The unit of a price: a million tokens, a thousand calls, or one unit. */
export function rateUnit(name: string): { readonly pico: number; readonly suffix: "M" | "K" | "1" } {
  const unit = unitOf(name);
  if (unit !== undefined) {
    const { per } = meteredUnits[unit];
    return { pico: picoPerUsd / per, suffix: per === 1 ? "1" : per === 1000 ? "K" : "M" };
  }
  return isToken(name) ? { pico: picoPerMillionth, suffix: "M" } : { pico: picoPerThousandth, suffix: "K" };
}
