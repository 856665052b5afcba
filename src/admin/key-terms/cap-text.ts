import { modelPatternForm } from "../../base/models/model-pattern.ts";
import { creditsFromNano, maxCredits, nanoFromCredits } from "../../base/money/money.ts";
import type { CapLimit, KeyMode } from "../../store/store.ts";
import { invalidInput } from "../context.ts";

/** A cap as an operator writes it: `5/day`, `20/week:claude-opus-*`. The amount is in credits or tokens. */
export interface WrittenCap extends Omit<CapLimit, "limit"> {
  readonly amount: number;
}

const form = /^(\d+(?:\.\d{1,9})?)\/(day|week|month)(?::(.+))?$/;

/** Null if the text is not a cap. */
export function capFromText(text: string): WrittenCap | null {
  const [, amount, period, models] = form.exec(text) ?? [];
  if (amount === undefined || period === undefined) return null;
  if (models !== undefined && !modelPatternForm.test(models)) return null;
  return { amount: Number(amount), period: period as CapLimit["period"], models: models ?? null };
}

/** A limit, because every request is checked against each cap. */
const maxCaps = 20;

/** Converts caps as written to the limits that are stored for an account of this mode. */
export function capLimits(caps: readonly WrittenCap[], mode: KeyMode): CapLimit[] {
  if (caps.length > maxCaps) {
    throw invalidInput(`a key or account can have at most ${maxCaps} caps`);
  }
  const written = caps.map((cap) => ({ ...cap, models: cap.models === "*" ? null : cap.models }));
  if (new Set(written.map(capName)).size < caps.length) {
    throw invalidInput("two caps have the same period and models; keep one of them");
  }
  return written.map(({ amount, period, models }) => {
    if (models !== null && !modelPatternForm.test(models)) {
      throw invalidInput("a cap's models must be a name or a pattern such as claude-*");
    }
    const limit = mode === "credit" ? nanoFromCredits(amount) : amount;
    if (limit !== null && Number.isSafeInteger(limit)) return { limit, period, models };
    throw invalidInput(rules[mode]);
  });
}

const rules: Readonly<Record<KeyMode, string>> = {
  credit: `a cap can be at most ${maxCredits} credits, with at most nine decimals`,
  token_budget: "a cap on a token budget must be a whole number of tokens",
};

/** The caps as an operator writes them, in credits or tokens. */
export function capsText(caps: readonly CapLimit[], mode: KeyMode): string {
  const amounts = caps.map(
    (cap) => `${mode === "credit" ? creditsFromNano(cap.limit) : cap.limit}/${capName(cap)}`,
  );
  return amounts.join(", ") || "none";
}

/** Identifies a cap of a key or account: `month`, or `week:claude-opus-*`. */
export function capName({ period, models }: Omit<CapLimit, "limit">): string {
  return models === null ? period : `${period}:${models}`;
}
