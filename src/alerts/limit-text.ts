import type { BudgetPeriod } from "../base/key-attributes.ts";

const thresholds = [100, 95, 80] as const;

/** The highest threshold that is reached, in percent; null below 80. */
export function levelOf(used: number, limit: number): (typeof thresholds)[number] | null {
  return thresholds.find((threshold) => used * 100 >= limit * threshold) ?? null;
}

/** `up`, or `81% of`. */
export function shareText(used: number, limit: number, level: number): string {
  return level === 100 ? "up" : `${Math.floor((used * 100) / limit)}% of`;
}

const adjectives = { none: "", day: "daily ", week: "weekly ", month: "monthly " } as const;

/** E.g. `balance`, or `daily cap for claude-*`. */
export function limitName(
  kind: "balance" | "budget" | "cap",
  period: BudgetPeriod,
  models: string | null,
): string {
  const when = kind === "balance" ? "" : adjectives[period];
  return `${when}${kind}${models === null ? "" : ` for ${models}`}`;
}

/** Four digits are enough to read. */
export function shortAmount(amount: number): string {
  return String(Number(amount.toPrecision(4)));
}
