import type { AccountRecord, CapLimit } from "../../store/store.ts";
import { capsText } from "./cap-text.ts";
import { spendable } from "./key-change-detail.ts";

/** What the audit log says of a new account: what it may spend, and every cap that it has or gives. */
export function accountCreationDetail(account: AccountRecord, creditNano: number): string {
  const { mode, isOpen, caps, keyCaps } = account;
  const named = [
    mode,
    isOpen ? "open" : spendable(account, creditNano),
    ...namedCaps("caps", caps, account),
    ...namedCaps("caps of new keys", keyCaps, account),
  ];
  return named.join(", ");
}

function namedCaps(name: string, caps: readonly CapLimit[], { mode }: AccountRecord): string[] {
  return caps.length === 0 ? [] : [`${name} ${capsText(caps, mode)}`];
}

/** What the audit log says of a changed account: each term as it was and as it is. */
export function accountUpdateDetail(before: AccountRecord, after: AccountRecord): string {
  const was = terms(before);
  const is = terms(after);
  const changes = [...is].flatMap(([name, value]) =>
    value === was.get(name) ? [] : [`${name} ${was.get(name)} → ${value}`],
  );
  // A label may be a person's name, so it is only named.
  if (before.label !== after.label) changes.unshift("label");
  return changes.join(", ") || "nothing changed";
}

function terms({ mode, isOpen, budgetTokens, period, caps, keyCaps }: AccountRecord): Map<string, string> {
  return new Map([
    ["open", isOpen ? "yes" : "no"],
    ["budget", String(budgetTokens ?? "none")],
    ["period", period],
    ["caps", capsText(caps, mode)],
    ["caps of new keys", capsText(keyCaps, mode)],
  ]);
}
