import { nanoPerCredit } from "../../base/money.ts";

/** Digits in groups of three: `1,000,000`. */
export function count(value: number): string {
  return String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** Credits with at least two decimals and all further non-zero ones; exact, since nothing is divided. */
export function credits(nano: number): string {
  const sign = nano < 0 ? "-" : "";
  const whole = Math.floor(Math.abs(nano) / nanoPerCredit);
  const fraction = String(Math.abs(nano) % nanoPerCredit).padStart(9, "0");
  return `${sign}${count(whole)}.${fraction.replace(/0{1,7}$/, "")}`;
}

/** The same of credits: with nine decimals a double is exact up to the highest balance. */
export function creditsShown(amount: number): string {
  return credits(Number(amount.toFixed(9).replace(".", "")));
}

/** A price of whole pico-USD per token as USD per million tokens, which is how vendors write it. */
export function usdPerMillion(pico: number): string {
  const whole = Math.floor(pico / 1_000_000);
  const fraction = String(pico % 1_000_000).padStart(6, "0");
  return `${count(whole)}.${fraction.replace(/0{1,4}$/, "")}`;
}

/** `2026-01-31 14:05`, always UTC: budgets and days are UTC too. */
export function moment(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

/** The same to the second, for what has to be found in a log. */
export function second(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

const halfAMinuteMs = 30_000;

/** `in 29 days`, `3 hours ago`: the largest unit that fits, rounded down but for the last half minute. */
export function fromNow(ms: number, nowMs: number): string {
  const distance = Math.abs(ms - nowMs) + halfAMinuteMs;
  for (const [name, length] of units) {
    const whole = Math.floor(distance / length);
    if (whole === 0) continue;
    const span = `${count(whole)} ${name}${whole === 1 ? "" : "s"}`;
    return ms > nowMs ? `in ${span}` : `${span} ago`;
  }
  return ms > nowMs ? "in less than a minute" : "just now";
}

/** A duration: `312 ms`, `4.2 s`. */
export function span(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Foreign text on one line, without control characters that a terminal would obey. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}
