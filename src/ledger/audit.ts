import type { AccountTotals, Snapshot, Store } from "../store/store.ts";

interface Difference {
  readonly keyId: string;
  readonly field: keyof AccountTotals;
  readonly kept: number | string;
  readonly recomputed: number | string;
}

export interface AuditReport {
  readonly accounts: number;
  readonly differences: readonly Difference[];
}

/** Recomputes every total from the entries alone and says where it differs from what is kept. */
export async function audit(store: Store): Promise<AuditReport> {
  const accounts = await store.recomputeTotals();
  const differences = accounts.flatMap(({ kept, recomputed }) =>
    fieldsOf(kept)
      .filter((field) => kept[field] !== recomputed[field])
      .map((field) => ({ keyId: kept.keyId, field, kept: kept[field], recomputed: recomputed[field] })),
  );
  return { accounts: accounts.length, differences };
}

function fieldsOf(totals: AccountTotals): readonly (keyof AccountTotals)[] {
  return Object.keys(totals) as (keyof AccountTotals)[];
}

/**
 * What can be checked at every start without reading the history: the totals must agree with one another. A ledger
 * that does not add up must not be charged to any further.
 */
export function checkTotals({ accounts, keys }: Snapshot): void {
  const modes = new Map(keys.map((key) => [key.id, key.mode]));
  const wrong = accounts.find(
    (totals) =>
      totals.posted !== totals.purchased - totals.used ||
      totals.daySpend > totals.used ||
      totals.periodUsed > totals.used ||
      (modes.get(totals.keyId) === "credit" && totals.posted < 0),
  );
  if (wrong === undefined) return;
  throw new Error(
    `The ledger does not add up for key ${wrong.keyId}. Run \`sluice ledger audit\` to see what differs, and ` +
      "`sluice restore FILE` to go back to a good copy.",
  );
}
