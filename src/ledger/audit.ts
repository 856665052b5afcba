import type { Anchor } from "../base/money/anchor.ts";
import { count } from "../base/text/plural.ts";
import type { LedgerFault, Snapshot, Store } from "../store/store.ts";
import { ChainAudit, readChain } from "./audit-chain.ts";
import { type AuditOptions, auditCharges } from "./audit-charges.ts";

export interface Difference extends Pick<LedgerFault, "keyId" | "where" | "field"> {
  readonly kept: number | string;
  readonly recomputed: number | string;
}

export interface AuditReport {
  readonly accounts: number;
  readonly entries: number;
  readonly differences: readonly Difference[];
  /** The newest; null before the first. */
  readonly anchor: Anchor | null;
}

/** Recomputes every charge from its rates, every total and report sum from the entries alone, and the chain. Reports the differences. */
export async function audit(store: Store, options: AuditOptions = {}): Promise<AuditReport> {
  const { signal, report = () => {} } = options;
  report("adding up the totals");
  const recomputed = await store.recomputeTotals();
  const totals = recomputed.flatMap(({ keyId, where, kept, recomputed }) =>
    Object.keys(kept)
      .filter((field) => kept[field] !== recomputed[field])
      .map((field) => ({
        keyId,
        where,
        field,
        kept: kept[field] ?? 0n,
        recomputed: recomputed[field] ?? 0n,
      })),
  );
  const chained = await readChain(store);
  const chain = new ChainAudit(chained);
  const { entries, faults } = await auditCharges(store, options, (entry) => chain.add(entry));
  report(`${count(entries)} entries checked; comparing the totals of reports`);
  const all: readonly LedgerFault[] = [...totals, ...faults, ...chain.finish(), ...(await store.auditSums())];
  signal?.throwIfAborted();
  const differences = all.map((fault) => {
    return { ...fault, kept: readable(fault.kept), recomputed: readable(fault.recomputed) };
  });
  const accounts = recomputed.filter(({ where }) => where.startsWith("account")).length;
  return { accounts, entries, differences, anchor: chained.anchors.at(-1) ?? null };
}

/** A number if it is exact, otherwise its digits. */
function readable(value: bigint | number | string): number | string {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/**
 * A check fast enough for every start: the totals must agree with each other. A ledger that does not add up must not
 * take further charges.
 */
export function checkTotals({ unbalancedId }: Snapshot): void {
  if (unbalancedId === null) return;
  throw new Error(
    `The ledger of ${unbalancedId} is inconsistent. Run \`sluice ledger audit\` to list the differences, and ` +
      "`sluice restore FILE` to return to a good backup.",
  );
}
