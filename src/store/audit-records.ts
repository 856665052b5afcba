/** Findings of a ledger audit. */

/** Totals by name. Bigints, because lifetime totals may exceed a double. */
export type ExactTotals = Readonly<Record<string, bigint>>;

export interface LedgerFault {
  readonly keyId: string | null;
  /** `entry 12`, `hour 2026-11-15T12:00 gpt-5.6 at openai`, `hold req_…`. */
  readonly where: string;
  readonly field: string;
  readonly kept: bigint | number | string;
  readonly recomputed: bigint | number | string;
}

export interface RecomputedTotals {
  /** Null for an account without a single key. */
  readonly keyId: string | null;
  /** The owner of the totals: `account`, `key` or `cap 12`. */
  readonly where: string;
  readonly kept: ExactTotals;
  readonly recomputed: ExactTotals;
}
