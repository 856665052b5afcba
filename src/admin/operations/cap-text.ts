import { modelPatternForm } from "../../base/model-pattern.ts";
import { nanoFromCredits } from "../../base/money.ts";
import type { CapLimit, KeyMode } from "../../store/store.ts";
import { OperationRefusal } from "./refusal.ts";

/** A cap as an operator writes it: `5/day`, `20/week:claude-opus-*`. The amount is in credits or tokens. */
export interface WrittenCap extends Omit<CapLimit, "limit"> {
  readonly amount: number;
}

const form = /^(\d+(?:\.\d{1,9})?)\/(day|week|month)(?::(.+))?$/;

/** Null if it is not written like one. */
export function capFromText(text: string): WrittenCap | null {
  const [, amount, period, models] = form.exec(text) ?? [];
  if (amount === undefined || period === undefined) return null;
  if (models !== undefined && !modelPatternForm.test(models)) return null;
  return { amount: Number(amount), period: period as CapLimit["period"], models: models ?? null };
}

/** What is kept of them for an account of this mode. */
export function capLimits(caps: readonly WrittenCap[], mode: KeyMode): CapLimit[] {
  const named = new Set(caps.map(({ period, models }) => `${period} ${models}`));
  if (named.size < caps.length) {
    throw new OperationRefusal(
      "invalid_input",
      "two caps are for the same period and models; name one of them",
    );
  }
  return caps.map(({ amount, period, models }) => {
    const limit = mode === "credit" ? nanoFromCredits(amount) : amount;
    if (limit !== null && Number.isSafeInteger(limit)) return { limit, period, models };
    throw new OperationRefusal("invalid_input", "a cap of a token budget is a whole number of tokens");
  });
}
