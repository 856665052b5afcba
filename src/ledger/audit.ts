import type { ExactTotals, Snapshot, Store } from "../store/store.ts";

interface Difference {
  readonly keyId: string;
  readonly field: keyof ExactTotals;
  readonly kept: number | string;
  readonly recomputed: number | string;
}

export interface AuditReport {
  readonly accounts: number;
  readonly differences: readonly Difference[];
}

/** Recomputes every total from the entries alone and reports where it differs from what is kept. */
export async function audit(store: Store): Promise<AuditReport> {
  const accounts = await store.recomputeTotals();
  const differences = accounts.flatMap(({ kept, recomputed }) =>
    fieldsOf(kept)
      .filter((field) => kept[field] !== recomputed[field])
      .map((field) => ({
        keyId: kept.keyId,
        field,
        kept: readable(kept[field] ?? 0n),
        recomputed: readable(recomputed[field] ?? 0n),
      })),
  );
  return { accounts: accounts.length, differences };
}

function fieldsOf(totals: ExactTotals): readonly (keyof ExactTotals)[] {
  return Object.keys(totals) as (keyof ExactTotals)[];
}

/** A number if that is exact, otherwise its digits. */
function readable(value: bigint | string): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/**
 * The check that is fast enough for every start: the totals must agree with each other. A ledger that does not add up
 * must not take further charges.
 */
export function checkTotals({ unbalancedKeyId }: Snapshot): void {
  if (unbalancedKeyId === null) return;
  throw new Error(
    `The ledger does not add up for key ${unbalancedKeyId}. Run \`sluice ledger audit\` to see what differs, and ` +
      "`sluice restore FILE` to go back to a good copy.",
  );
}
