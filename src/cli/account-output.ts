import type { AccountView } from "../admin/accounts/schema.ts";
import type { BoundCapView, CapView } from "../admin/key-terms/schema.ts";
import { tagsText } from "../base/requests/labels.ts";
import { billedUnit, count, plural, shortCredits } from "../base/text/plural.ts";
import { type Facts, facts } from "./terminal/list.ts";
import { creditsShown, type Terminal, utcMinute } from "./terminal/terminal.ts";

export function showAccount(view: AccountView, terminal: Terminal): void {
  const { style } = terminal;
  const rows: Facts = [
    ["id", view.id],
    ["label", view.label ?? style.dim("–")],
    ["mode", view.mode],
    ["billing", view.postpaid ? "postpaid, limited only by caps" : paidBefore(view)],
    ["status", view.status],
    standing(view),
    ...view.caps.map((cap) => ["cap", capText(cap, view.mode)] as const),
    ...view.value_caps.map((cap) => ["cap by value", valueCapText(cap, view.mode)] as const),
    ...view.key_caps.map((cap) => ["default key cap", capTerms(cap, view.mode)] as const),
    view.content !== null && ["content", `at most ${view.content}`],
    ...sharedFacts(view),
    ...view.keys.map((key) => {
      const caps = key.caps.map((cap) => capText(cap, view.mode)).join("; ");
      return ["key", [key.prefix, key.label, key.owner, caps].filter(Boolean).join("  ")] as const;
    }),
  ];
  terminal.print(facts(rows, terminal));
}

type SharedTerms = Pick<AccountView, "tags" | "tpm_limits">;

/** Facts that keys and accounts share. */
export function sharedFacts({ tags, tpm_limits: limits }: SharedTerms): Facts {
  const rates = (limits ?? []).map(
    ({ limit, models }) => `${plural(limit, "token")} per minute${models ? ` for ${models}` : ""}`,
  );
  return [...rates.map((rate) => ["rate", rate] as const), tags !== null && ["tags", tagsText(tags)]];
}

function paidBefore({ mode }: AccountView): string {
  return mode === "credit" ? "prepaid" : "token budget";
}

type Holdings = Pick<AccountView, "credit" | "budget" | "postpaid">;

/** The available amount. For a postpaid account: the amount owed, or the surplus that was paid. */
export function standing(
  { credit, budget, postpaid }: Holdings,
  unit = "credits",
  creditsText: (amount: number) => string = creditsShown,
): [name: string, text: string] {
  if (credit !== null && postpaid) {
    const { balance } = credit;
    return [balance > 0 ? "paid ahead" : "owed", `${creditsText(Math.abs(balance))} ${unit}`];
  }
  if (credit !== null) return ["balance", `${creditsText(credit.balance)} ${unit}`];
  if (budget === null || budget.remaining === null) return ["balance", "unlimited"];
  return ["balance", `${count(budget.remaining)} of ${count(budget.tokens ?? 0)} tokens`];
}

/** The balance for a table's cell, with at most four decimals: `5.00 credits`, `5.00 credits owed`. */
export function balanceText(view: Holdings, unit?: string): string {
  const [name, text] = standing(view, unit, shortCredits);
  return name === "balance" ? text : `${text} ${name}`;
}

/** `3.5 of 5 credits per day for claude-*, raised by 2 until 2026-11-17 00:00 UTC`. */
export function capText(cap: CapView, mode: AccountView["mode"]): string {
  const { used, raised_by: raised, resets_at: until } = cap;
  const amount = amountIn(mode);
  const more =
    raised === 0 || until === null ? "" : `, raised by ${amount(raised)} until ${utcMinute(until)} UTC`;
  return `${amount(used)} of ${capTerms(cap, mode)}${more}`;
}

/** `3.5 of 20 credits per day by owner ada@example.com, then house-small`. */
export function valueCapText(cap: BoundCapView, mode: AccountView["mode"]): string {
  const { label, value, used, then: model } = cap;
  const after = model === null ? "" : `, then ${model}`;
  if (used === null) return `${capTerms(cap, mode)} by each ${label}${after}`;
  return `${capText({ ...cap, used }, mode)} by ${label} ${value}${after}`;
}

function capTerms(
  { limit, period, models }: Pick<CapView, "limit" | "period" | "models">,
  mode: AccountView["mode"],
): string {
  const unit = billedUnit(mode, limit);
  return `${amountIn(mode)(limit)} ${unit} per ${period}${models === null ? "" : ` for ${models}`}`;
}

function amountIn(mode: AccountView["mode"]): (amount: number) => string {
  return mode === "credit" ? creditsShown : count;
}
