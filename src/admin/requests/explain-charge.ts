import { exactCredits, nanoPerCredit } from "../../base/money/money.ts";
import {
  costNano,
  isToken,
  type Quantities,
  type Rates,
  readRates,
  tokensOf,
  unitsOf,
} from "../../base/money/rates.ts";
import { ratesInUsd, rateUnit } from "../../base/money/rates-in-usd.ts";
import type { Entry } from "../../store/store.ts";
import type { EntryView } from "./schema.ts";

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
    rates: ratesInUsd(rates),
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

/** `120 × 5.00/M + 40 × 30.00/M = 0.0018`. */
function calculationInCredits(rates: Rates, quantities: Quantities): string {
  const terms = Object.entries(quantities).map(([name, count]) => {
    const { pico, suffix } = rateUnit(name);
    const rate = twoDecimals((rates.picoUsd[name] ?? 0) / pico);
    return `${count}${isPlain(name) ? "" : ` ${name}`} × ${rate}/${suffix}`;
  });
  const { microUsdPerCredit } = rates;
  const sum = terms.length === 0 ? "0" : terms.join(" + ");
  const inCredits =
    microUsdPerCredit === 1_000_000 ? sum : `(${sum}) / ${twoDecimals(microUsdPerCredit / 1_000_000)}`;
  return `${inCredits} = ${exactCredits(costNano(rates, quantities))}`;
}

/** `120 + 40 = 160 tokens`. */
function sumInTokens(quantities: Quantities): string {
  const counts = Object.entries(quantities).filter(([name]) => isToken(name));
  const terms = counts.map(([name, count]) => `${count}${isPlain(name) ? "" : ` ${name}`}`);
  return `${terms.length === 0 ? "0" : terms.join(" + ")} = ${tokensOf(quantities)} tokens`;
}

/** Whether a quantity needs no name, because its position identifies it. */
function isPlain(name: string): boolean {
  return name === "input" || name === "output";
}

/** `5.00`, `0.125`: at least two decimals, and all that are not zero. */
function twoDecimals(value: number): string {
  const text = exactCredits(Math.round(value * nanoPerCredit));
  const [whole, fraction = ""] = text.split(".");
  return `${whole}.${fraction.padEnd(2, "0")}`;
}
