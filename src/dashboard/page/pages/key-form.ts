import type { KeyView } from "../../../admin/views.ts";
import { commaInCredits, creditsFromText, wholeFromText } from "../../../base/typed-number.ts";

/** What the forms for a new and for an old key share: texts as typed, and the request made of them. */
export interface KeyForm {
  readonly label: string;
  readonly scope: string;
  readonly models: string;
  readonly rpm: string;
  readonly budget: string;
  readonly period: string;
  readonly expires: string;
}

export const emptyKeyForm: KeyForm = {
  label: "",
  scope: "all",
  models: "",
  rpm: "",
  budget: "",
  period: "month",
  expires: "",
};

export function formOf(key: KeyView): KeyForm {
  return {
    label: key.label ?? "",
    scope: key.scope,
    models: key.models?.join(", ") ?? "",
    rpm: key.rpm_limit === null ? "" : String(key.rpm_limit),
    budget: String(key.budget?.tokens ?? ""),
    period: key.budget?.period ?? "month",
    expires: key.expires_at?.slice(0, 10) ?? "",
  };
}

/** Text that is no such number is reported before anything is sent. */
function wholeOrNull(text: string, field: string): number | null {
  if (text.trim() === "") return null;
  const value = wholeFromText(text);
  if (value === null) throw new Error(`${field} must be a whole number, such as 60 or 1,000,000.`);
  return value;
}

export function creditsOf(text: string): number {
  const value = creditsFromText(text);
  if (value === null) throw new Error(`"${text}" is no amount of credits. ${commaInCredits}`);
  return value;
}

export function hoursOf(text: string): number {
  const value = creditsFromText(text);
  if (value === null || value < 0) throw new Error("The hours must be a number, such as 0 or 1.5.");
  return value;
}

export function requestOf(form: KeyForm, mode: KeyView["mode"]): Record<string, unknown> {
  const models = form.models.split(",").map((name) => name.trim());
  const chosen = models.filter((name) => name !== "");
  return {
    label: form.label.trim() === "" ? null : form.label.trim(),
    scope: form.scope,
    models: chosen.length === 0 ? null : chosen,
    rpm_limit: wholeOrNull(form.rpm, "Requests a minute"),
    expires_at: form.expires === "" ? null : new Date(`${form.expires}T23:59:59Z`).toISOString(),
    ...(mode === "token_budget"
      ? { budget_tokens: wholeOrNull(form.budget, "The token budget"), period: form.period }
      : {}),
  };
}
