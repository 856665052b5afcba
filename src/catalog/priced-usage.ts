import type { ExtraUsage } from "../base/extra-usage.ts";
import { costNano, makeRates, type Quantities, type Rates } from "../base/rates.ts";
import { answerOf, totalInput, type Usage } from "../base/usage.ts";
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

/** `runOf` finds a model by the name that the provider reports; null if it is taken for the call's own. */
export function priced(
  usage: Usage,
  price: Price | null,
  microUsdPerCredit: number,
  extra: ExtraUsage | null = null,
  runOf: (model: string) => OtherRun | null = () => null,
): PricedUsage {
  const { rounds } = usage;
  const answer = answerOf(usage);
  const rates = ratesFor(price, extra?.tiers ?? [], totalInput(answer), microUsdPerCredit);
  const quantities = quantitiesOf(answer, extra, rates);
  if (rounds === undefined) return { rates, quantities, costNano: costNano(rates, quantities) };
  const sum = new RoundSum(rates, quantities);
  for (const { model, usage: used } of rounds) {
    const other = model === null ? null : runOf(model);
    const itsPrice = other === null ? price : other.price;
    const itsRates = ratesFor(itsPrice, extra?.tiers ?? [], totalInput(used), microUsdPerCredit);
    sum.add(other?.id ?? null, used, itsRates);
  }
  return sum.priced();
}

/**
 * Adds up the rounds of a call. Each is a call of its own: whether its context is long depends on its own input. What it used is
 * named after it where it has other rates than the answer: `claude-5/input`.
 */
class RoundSum {
  readonly #rates: Rates;
  readonly #quantities: Record<string, number>;
  readonly #picoUsd: Record<string, number>;

  constructor(rates: Rates, quantities: Quantities) {
    this.#rates = rates;
    this.#quantities = { ...quantities };
    this.#picoUsd = { ...rates.picoUsd };
  }

  add(model: string | null, usage: Usage, rates: Rates): void {
    const isLike = model === null && rates.inputAbove === this.#rates.inputAbove;
    const prefix = isLike ? "" : `${nameOf(model, rates)}/`;
    for (const [name, count] of Object.entries(quantitiesOf(usage, null, rates))) {
      this.#quantities[prefix + name] = (this.#quantities[prefix + name] ?? 0) + count;
      const picoUsd = rates.picoUsd[name];
      if (picoUsd !== undefined) this.#picoUsd[prefix + name] = picoUsd;
    }
  }

  priced(): PricedUsage {
    const { microUsdPerCredit, tiers, inputAbove } = this.#rates;
    const rates = makeRates({ microUsdPerCredit, picoUsd: this.#picoUsd, tiers, inputAbove });
    return { rates, quantities: this.#quantities, costNano: costNano(rates, this.#quantities) };
  }
}

/** Of one name are only rounds of the same rates. */
function nameOf(model: string | null, { inputAbove }: Rates): string {
  const name = model ?? "compaction";
  return inputAbove === null ? name : `${name} above ${inputAbove}`;
}
