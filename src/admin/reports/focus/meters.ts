import { isToken, meteredUnits, type Quantities, type Rates, unitOf } from "../../../base/money/rates.ts";
import { decimalText } from "./decimal.ts";

/** One price of a charge, with the quantity that it was charged for. */
export interface Meter {
  /** The name in the price: `cached_input`. */
  readonly name: string;
  /** The model, if it is a second one that the request used. */
  readonly model: string | null;
  readonly unit: string;
  readonly quantity: string;
  readonly unitPrice: string;
  /** The product of the two, in USD. */
  readonly cost: string;
  /** The product again, as a whole number to share the charge by. */
  readonly weight: bigint;
}

/** Minutes are fractions. */
const quantityDecimals = 9;
const priceDecimals = 12;

/** The prices of a charge. Quantities of 0 are skipped. */
export function metersOf({ picoUsd }: Pick<Rates, "picoUsd">, quantities: Quantities): readonly Meter[] {
  return Object.entries(quantities)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => {
      const slash = name.lastIndexOf("/");
      const isSecond = slash !== -1 && isToken(name);
      const quantity = partsOf(count);
      const price = BigInt(picoUsd[name] ?? 0);
      return {
        name: isSecond ? name.slice(slash + 1) : name,
        model: isSecond ? name.slice(0, slash) : null,
        unit: unitName(name),
        quantity: decimalText(quantity, quantityDecimals),
        unitPrice: decimalText(price, priceDecimals),
        cost: decimalText(quantity * price, quantityDecimals + priceDecimals),
        weight: quantity * price,
      };
    });
}

function partsOf(count: number): bigint {
  return Number.isSafeInteger(count)
    ? BigInt(count) * 10n ** BigInt(quantityDecimals)
    : BigInt(Math.round(count * 10 ** quantityDecimals));
}

function unitName(name: string): string {
  if (isToken(name)) return "Tokens";
  const unit = unitOf(name);
  if (unit === undefined) return "Calls";
  const { kind } = meteredUnits[unit];
  const words = kind.replaceAll("_", " ");
  return words.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** Divides an amount by weight into whole numbers, whose sum is exactly the amount. */
export function shares(amount: bigint, weights: readonly bigint[]): readonly bigint[] {
  const all = weights.reduce((sum, weight) => sum + weight, 0n);
  let weightSoFar = 0n;
  let given = 0n;
  return weights.map((weight, index) => {
    weightSoFar += weight;
    const isLast = index === weights.length - 1;
    const through = isLast ? amount : all === 0n ? 0n : (amount * weightSoFar) / all;
    const share = through - given;
    given = through;
    return share;
  });
}
