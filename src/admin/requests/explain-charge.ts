import { nanoPerCredit } from "../../base/money/money.ts";
import {
  costNano,
  isToken,
  meteredUnits,
  type Quantities,
  type Rates,
  readRates,
  tokensOf,
  unitOf,
  unitsOf,
} from "../../base/money/rates.ts";
import type { Entry } from "../../store/store.ts";
import type { EntryView } from "./schema.ts";

const picoPerMillionth = 1_000_000;
const picoPerThousandth = 1_000_000_000;
const picoPerUsd = 1_000_000_000_000;

/** The rates and quantities of a charge, in the configuration's names. Empty for other entries and for old charges. */
export function explainCharge(
  entry: Entry,
  isCredit: boolean,
): Pick<EntryView, "rates" | "quantities" | "units" | "calculation"> {
  const { quantities } = entry;
  if (entry.rates === null || quantities === null) {
    return { rates: null, quantities: null, units: null, calculation: null };
  }
  const rates = readRates(entry.rates);
  return {
    rates: ratesDocument(rates),
    quantities: { ...quantities },
    units: unitsOf(quantities),
    calculation: isCredit ? calculationInCredits(rates, quantities) : calculationInTokens(rates, quantities),
  };
}

/** The tokens charged to a budget, and what they would have cost. */
function calculationInTokens(rates: Rates, quantities: Quantities): string {
  const tokens = sumInTokens(quantities);
  const isPriced = Object.keys(rates.picoUsd).length > 0;
  return isPriced ? `${tokens}; at the list price ${calculationInCredits(rates, quantities)}` : tokens;
}

/** The rates in USD per million tokens, per thousand calls, or per unit. */
function ratesDocument(rates: Rates): NonNullable<EntryView["rates"]> {
  const { picoUsd, microUsdPerCredit, tiers, inputAbove } = rates;
  const usd = Object.entries(picoUsd).map(([name, pico]) => [name, pico / sizeOf(name).pico] as const);
  return {
    ...Object.fromEntries(usd),
    usd_per_credit: microUsdPerCredit / 1_000_000,
    ...(tiers.length === 0 ? {} : { tiers: [...tiers] }),
    ...(inputAbove === null ? {} : { input_above: inputAbove }),
  };
}

/** `120 × 5.00/M + 40 × 30.00/M = 0.0018`. */
function calculationInCredits(rates: Rates, quantities: Quantities): string {
  const terms = Object.entries(quantities).map(([name, count]) => {
    const { pico, suffix } = sizeOf(name);
    const rate = twoDecimals((rates.picoUsd[name] ?? 0) / pico);
    return `${count}${isPlain(name) ? "" : ` ${name}`} × ${rate}/${suffix}`;
  });
  const { microUsdPerCredit } = rates;
  const sum = terms.length === 0 ? "0" : terms.join(" + ");
  const inCredits =
    microUsdPerCredit === 1_000_000 ? sum : `(${sum}) / ${twoDecimals(microUsdPerCredit / 1_000_000)}`;
  return `${inCredits} = ${decimals(costNano(rates, quantities))}`;
}

/** `120 + 40 = 160 tokens`. */
function sumInTokens(quantities: Quantities): string {
  const counts = Object.entries(quantities).filter(([name]) => isToken(name));
  const terms = counts.map(([name, count]) => `${count}${isPlain(name) ? "" : ` ${name}`}`);
  return `${terms.length === 0 ? "0" : terms.join(" + ")} = ${tokensOf(quantities)} tokens`;
}

/** Whether a quantity needs no name, because its position says what it is. */
function isPlain(name: string): boolean {
  return name === "input" || name === "output";
}

function sizeOf(name: string): { readonly pico: number; readonly suffix: "M" | "K" | "1" } {
  const unit = unitOf(name);
  if (unit !== undefined) {
    const { per } = meteredUnits[unit];
    return { pico: picoPerUsd / per, suffix: per === 1 ? "1" : per === 1000 ? "K" : "M" };
  }
  return isToken(name) ? { pico: picoPerMillionth, suffix: "M" } : { pico: picoPerThousandth, suffix: "K" };
}

/** `5.00`, `0.125`: at least two decimals, and all that are not zero. */
function twoDecimals(value: number): string {
  const text = decimals(Math.round(value * nanoPerCredit));
  const [whole, fraction = ""] = text.split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}

/** Whole nanos as a decimal number, exactly. */
function decimals(nano: number): string {
  const digits = String(nano).padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, -9) : `${digits.slice(0, -9)}.${fraction}`;
}
