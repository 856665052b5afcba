/**
 * A whole number of `10^-decimals`, exactly and without trailing zeros: `0.000005`, `-5.0`. Whole numbers have a decimal, too,
 * because readers of CSV take a column without any for one of integers, which FOCUS does not allow.
 */
export function decimalText(value: bigint, decimals: number): string {
  const digits = String(value < 0n ? -value : value).padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -decimals)}.${fraction === "" ? "0" : fraction}`;
}
