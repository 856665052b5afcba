import type { AccountView, CapView } from "../admin/views.ts";
import type { StorePlace } from "./open-store.ts";
import { count, creditsShown } from "./terminal/format.ts";
import { facts } from "./terminal/table.ts";
import { printJson, type Terminal } from "./terminal/terminal.ts";

interface AccountOutput {
  readonly json: boolean;
  /** Where it was written to; absent if the account was only read. */
  readonly place?: StorePlace;
}

export function showAccount(view: AccountView, { json, place }: AccountOutput, terminal: Terminal): void {
  if (json) {
    printJson({ ...view, ...place }, terminal);
    return;
  }
  const { style } = terminal;
  const rows: (readonly [string, string])[] = [
    ["id", view.id],
    ["label", view.label ?? style.dim("–")],
    ["mode", view.mode],
    ["status", view.status],
    [view.open ? "owed" : "left", standing(view)],
    ...view.caps.map((cap) => ["cap", capText(cap, view.mode)] as const),
    ...view.keys.map((key) => {
      const caps = key.caps.map((cap) => capText(cap, view.mode)).join("; ");
      return ["key", [key.prefix, key.label, key.owner, caps].filter(Boolean).join("  ")] as const;
    }),
  ];
  terminal.print(facts(rows, terminal));
}

/** What may be spent, or what is owed, in one short text. */
export function standing({ credit, budget, open }: AccountView): string {
  if (credit !== null) return `${creditsShown(open ? -credit.balance : credit.balance)} credits`;
  if (budget === null || budget.remaining === null) return "unlimited";
  return `${count(budget.remaining)} of ${count(budget.tokens ?? 0)} tokens`;
}

/** `3.5 of 5 credits a day for claude-*`. */
export function capText({ limit, used, period, models }: CapView, mode: AccountView["mode"]): string {
  const [amount, unit] = mode === "credit" ? [creditsShown, "credits"] : [count, "tokens"];
  return `${amount(used)} of ${amount(limit)} ${unit} a ${period}${models === null ? "" : ` for ${models}`}`;
}
