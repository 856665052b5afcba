import { creditsFromNano } from "../../base/money.ts";
import type { KeyRecord } from "../../store/store.ts";

const longestValue = 200;

/** What the audit log says of a new key: what it may spend, and every limit that it has. */
export function creationDetail(key: KeyRecord, creditNano: number): string {
  const limits = [
    key.rpmLimit === null ? null : `rpm ${key.rpmLimit}`,
    key.scope === "all" ? null : `scope ${key.scope}`,
    key.models === null ? null : `models ${listed(key.models)}`,
    key.expiresAtMs === null ? null : `expires ${moment(key.expiresAtMs)}`,
  ];
  return [key.mode, spendable(key, creditNano), ...limits].filter((part) => part !== null).join(", ");
}

function spendable({ mode, budgetTokens, period }: KeyRecord, creditNano: number): string {
  if (mode === "credit") return `${creditsFromNano(creditNano)} credits`;
  const tokens = budgetTokens === null ? "no limit" : `${budgetTokens} tokens`;
  return period === "none" ? tokens : `${tokens} a ${period}`;
}

/** What the audit log says of a changed key: each limit as it was and as it is. A label may be a person's name, so it is only named. */
export function updateDetail(before: KeyRecord, after: KeyRecord): string {
  const changes = [
    before.label === after.label ? null : "label",
    changed("rpm", before.rpmLimit ?? "none", after.rpmLimit ?? "none"),
    changed("budget", before.budgetTokens ?? "none", after.budgetTokens ?? "none"),
    changed("period", before.period, after.period),
    changed("scope", before.scope, after.scope),
    changed("models", listed(before.models), listed(after.models)),
    changed("expires", moment(before.expiresAtMs), moment(after.expiresAtMs)),
  ];
  return changes.filter((change) => change !== null).join(", ") || "nothing changed";
}

function changed(what: string, before: string | number, after: string | number): string | null {
  return before === after ? null : `${what} ${before} → ${after}`;
}

function listed(models: readonly string[] | null): string {
  return models === null ? "all" : models.join(" ").slice(0, longestValue);
}

function moment(ms: number | null): string {
  return ms === null ? "never" : new Date(ms).toISOString();
}
