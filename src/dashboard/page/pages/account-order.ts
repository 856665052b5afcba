import type { AccountView } from "../../../admin/views.ts";

/** The share of its tightest bound that is used; 0 where nothing bounds it. */
export function usedShare({ credit, budget, open, caps }: AccountView): number {
  const shares = caps.map(({ used, limit }) => (limit === 0 ? 1 : used / limit));
  if (credit !== null && !open && credit.purchased > 0) shares.push(credit.used / credit.purchased);
  if (budget !== null && budget.tokens !== null) shares.push(budget.used / (budget.tokens || 1));
  return Math.max(0, ...shares);
}

/** How it is paid for, as the filter has it. */
export function paymentOf({ mode, open }: AccountView): "prepaid" | "afterwards" | "budget" {
  if (mode === "token_budget") return "budget";
  return open ? "afterwards" : "prepaid";
}

const orders: Readonly<Record<string, (one: AccountView, other: AccountView) => number>> = {
  label: (one, other) => (one.label ?? one.id).localeCompare(other.label ?? other.id, "en"),
  tightest: (one, other) => usedShare(other) - usedShare(one),
  spent: (one, other) => (other.credit?.used ?? 0) - (one.credit?.used ?? 0),
  owed: (one, other) => (one.credit?.balance ?? 0) - (other.credit?.balance ?? 0),
};

type AccountFilter = Readonly<Record<"search" | "status" | "paid" | "sort", string | null>>;

/** Those that fit, in order; by themselves the newest first. There are few enough to do it here. */
export function chosenAccounts(
  accounts: readonly AccountView[],
  { search, status, paid, sort }: AccountFilter,
): readonly AccountView[] {
  const text = search?.toLowerCase() ?? "";
  const found = accounts.filter(
    (account) =>
      (status === null || account.status === status) &&
      (paid === null || paymentOf(account) === paid) &&
      textsOf(account).some((each) => each.toLowerCase().includes(text)),
  );
  const order = orders[sort ?? ""];
  return order === undefined ? found.toReversed() : found.toSorted(order);
}

function textsOf({ id, label, keys }: AccountView): readonly string[] {
  return [id, label, ...keys.flatMap((key) => [key.label, key.owner, key.prefix])].filter(
    (text) => text !== null,
  );
}
