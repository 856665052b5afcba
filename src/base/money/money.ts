import { assert, assertAmount } from "../assert.ts";

/**
 * Money is whole nano-credits: 1 credit = 1,000,000,000. Prices are whole pico-USD per token, which is USD per million
 * tokens times one million, so `price = 0.0375` is exactly 37,500. The only rounding between the two is
 * `nanoFromPicoUsd`, always up and once per call.
 */
export const nanoPerCredit = 1_000_000_000;

/** Maximum balance of an account: amounts of nano-credits are exact in a double up to 9 million credits. */
export const maxCredits = 4_000_000;

/** Maximum debt of a postpaid account, for the same reason. A request that could exceed it is rejected before it runs. */
export const maxDebtNano = maxCredits * nanoPerCredit;

/** Maximum credit that an account can receive in its lifetime. Totals of that size still fit the database's integers. */
export const maxLifetimeCredits = 1_000_000_000;

/**
 * Stands for any larger amount of one call. It is one more than the largest balance, so a hold of it is always rejected,
 * and a charge of it takes the whole balance.
 */
export const unaffordableNano = maxCredits * nanoPerCredit + 1;

/** A price of the config in whole pico-USD per token; null when it has more than six decimals. */
export function picoUsdPerToken(usdPerMillionTokens: number): number | null {
  const pico = Math.round(usdPerMillionTokens * 1_000_000);
  const exact = Math.abs(pico - usdPerMillionTokens * 1_000_000) < 1e-3;
  return exact && Number.isSafeInteger(pico) && pico >= 0 ? pico : null;
}

/** Factors on prices have at most four decimals, so price and factor are whole numbers, and their product is exact. */
export const factorParts = 10_000;
export const maxFactor = 1_000;

/**
 * The one place where money is rounded. `microUsdPerCredit` is `usd_per_credit` times one million. A double divides
 * whole numbers exactly while it can hold them, and many times faster than a bigint, which is used above about 9 USD.
 * Never more than `unaffordableNano`. `parts` is the number of parts per pico-USD in the amount.
 */
export function nanoFromPicoUsd(picoUsd: number | bigint, microUsdPerCredit: number, parts = 1): number {
  assertAmount(microUsdPerCredit, "microUsdPerCredit");
  assert(microUsdPerCredit > 0, "usd_per_credit must be above 0");
  if (typeof picoUsd === "number") {
    assertAmount(picoUsd, "pico-USD");
    const dividend = picoUsd * 1000 + microUsdPerCredit - 1;
    if (Number.isSafeInteger(dividend)) {
      return Math.min(Math.floor(dividend / microUsdPerCredit), unaffordableNano);
    }
  }
  const divisor = BigInt(microUsdPerCredit) * BigInt(parts);
  const nano = Number((BigInt(picoUsd) * 1000n + divisor - 1n) / divisor);
  assert(nano >= 0, "no cost is below 0");
  return Math.min(nano, unaffordableNano);
}

/**
 * Credits as typed or configured (`5`, `0.25`), in nano-credits; null for more than nine decimals, or above the maximum. Up to
 * `maxCredits` a double represents all amounts of nine decimals distinctly, so a value that does not convert back had more.
 */
export function nanoFromCredits(credits: number): number | null {
  const nano = Math.round(credits * nanoPerCredit);
  const isWhole = nano / nanoPerCredit === credits;
  return isWhole && nano >= 0 && credits <= maxCredits ? nano : null;
}

/** For display and wire formats; the ledger never computes with the result. Rounded to the nearest double. */
export function creditsFromNano(nano: number | bigint): number {
  return typeof nano === "number" ? nano / nanoPerCredit : nearest(nano, 9);
}

/** Nano-credits as a decimal number of credits, exactly: `-0.0018`, `5`. */
export function exactCredits(nano: number | bigint): string {
  const digits = String(nano).replace("-", "").padStart(10, "0");
  const fraction = digits.slice(-9).replace(/0+$/, "");
  return `${nano < 0 ? "-" : ""}${digits.slice(0, -9)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** The opposite of `exactCredits`; null for any other text. */
export function nanoFromExact(text: string): bigint | null {
  const [, sign, whole, fraction = ""] = /^(-?)(\d{1,12})(?:\.(\d{1,9}))?$/.exec(text) ?? [];
  if (whole === undefined) return null;
  const nano = BigInt(whole + fraction.padEnd(9, "0"));
  return sign === "-" ? -nano : nano;
}

/** Rounded down to nano-USD; the nearest number that a double has, like `creditsFromNano`. */
export function usdFromNano(nano: number, microUsdPerCredit: number): number {
  return nearest((BigInt(nano) * BigInt(microUsdPerCredit)) / 1_000_000n, 9);
}

/** A whole number of units with `decimals` decimals. Parsing it as text rounds once; adding its parts would round twice. */
function nearest(value: bigint, decimals: number): number {
  return Number(`${value}e-${decimals}`);
}
