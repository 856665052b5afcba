import type { CapsBody, CapView, KeyView } from "../../../admin/views.ts";
import { wholeFromText } from "../../../base/typed-number.ts";
import { creditsOf } from "./key-form.ts";

/** A cap as it is typed. */
export interface CapForm {
  readonly limit: string;
  readonly period: CapView["period"];
  readonly models: string;
}

export const emptyCap: CapForm = { limit: "", period: "day", models: "" };

/** Without what they are raised by in this period alone. */
export function capForms(
  caps: readonly (Pick<CapView, "limit" | "period" | "models"> & { readonly raised_by?: number })[],
): CapForm[] {
  return caps.map(({ limit, raised_by = 0, period, models }) => ({
    limit: String(Number((limit - raised_by).toFixed(9))),
    period,
    models: models ?? "",
  }));
}

/** Caps without an amount are left out. */
export function capsOf(forms: readonly CapForm[], mode: KeyView["mode"]): CapsBody {
  return forms
    .filter(({ limit }) => limit.trim() !== "")
    .map(({ limit, period, models }) => ({
      limit: amountOf(limit, mode),
      period,
      models: models.trim() === "" ? null : models.trim(),
    }));
}

/** In credits or tokens, as a cap and what it is raised by are. */
export function amountOf(text: string, mode: KeyView["mode"]): number {
  if (mode === "credit") return creditsOf(text);
  const tokens = wholeFromText(text);
  if (tokens === null) throw new Error("Tokens are a whole number, such as 200,000.");
  return tokens;
}
