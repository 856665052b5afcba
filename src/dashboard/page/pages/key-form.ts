import type { KeyView } from "../../../admin/views.ts";

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

function numberOrNull(text: string): number | null {
  const plain = text.replace(/[\s_,']/g, "");
  return plain === "" ? null : Number(plain);
}

export function requestOf(form: KeyForm, mode: KeyView["mode"]): Record<string, unknown> {
  const models = form.models.split(",").map((name) => name.trim());
  const chosen = models.filter((name) => name !== "");
  return {
    label: form.label.trim() === "" ? null : form.label.trim(),
    scope: form.scope,
    models: chosen.length === 0 ? null : chosen,
    rpm_limit: numberOrNull(form.rpm),
    expires_at: form.expires === "" ? null : new Date(`${form.expires}T23:59:59Z`).toISOString(),
    ...(mode === "token_budget" ? { budget_tokens: numberOrNull(form.budget), period: form.period } : {}),
  };
}
