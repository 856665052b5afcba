import { costNano, makeRates, type Quantities, type Rates } from "../base/money/rates.ts";
import type { ExtraUsage } from "../base/usage/extra-usage.ts";
import { answerOf, totalInput, type Usage } from "../base/usage/usage.ts";
import type { Price } from "../config/settings.ts";
import { quantitiesOf, ratesFor } from "./charge-rates.ts";

/** What a call costs, and all that it follows from. */
export interface PricedUsage {
  readonly rates: Rates;
  readonly quantities: Quantities;
  readonly costNano: number;
}

/** Another model that ran beside the answer. */
export interface OtherRun {
  readonly id: string;
  readonly price: Price | null;
}

const none: readonly string[] = [];
const noOther = () => null;

/** `runOf` finds a model by the name that the provider reports; null if it is taken for the call's own. */
export function priced(
  usage: Usage,
  price: Price | null,
  microUsdPerCredit: number,
  extra: ExtraUsage | null = null,
  runOf: (model: string) => OtherRun | null = noOther,
): PricedUsage {
  const { rounds } = usage;
  const answer = answerOf(usage);
  const tiers = extra?.tiers ?? none;
  const rates = ratesFor(price, tiers, totalInput(answer), microUsdPerCredit);
  const quantities = quantitiesOf(answer, extra, rates);
  if (rounds === undefined) return { rates, quantities, costNano: costNano(rates, quantities) };
  const sums: Record<string, number> = { ...quantities };
  const picoUsd: Record<string, number> = { ...rates.picoUsd };
  for (const { model, usage: used } of rounds) {
    const other = model === null ? null : runOf(model);
    const itsPrice = other === null ? price : other.price;
    // Each is a call of its own: whether its context is long depends on its own input.
    const itsRates = ratesFor(itsPrice, tiers, totalInput(used), microUsdPerCredit);
    const prefix = prefixOf(other, itsRates, rates);
    for (const [name, count] of Object.entries(quantitiesOf(used, null, itsRates))) {
      sums[prefix + name] = (sums[prefix + name] ?? 0) + count;
      const rate = itsRates.picoUsd[name];
      if (rate !== undefined) picoUsd[prefix + name] = rate;
    }
  }
  const all = makeRates({ ...rates, picoUsd });
  return { rates: all, quantities: sums, costNano: costNano(all, sums) };
}

/** What a round used is named after it where it has other rates than the answer: `claude-5/input`. */
function prefixOf(other: OtherRun | null, { inputAbove }: Rates, answer: Rates): string {
  if (other === null && inputAbove === answer.inputAbove) return "";
  const name = other?.id ?? "compaction";
  return inputAbove === null ? `${name}/` : `${name} above ${inputAbove}/`;
}
