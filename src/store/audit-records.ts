import type { AnchoredEntry } from "../base/money/anchor.ts";
import type { Entry } from "./records.ts";

/** What a ledger audit reads and finds. */

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

/** An entry with the fields of its usage record that must agree with it. Null without such a record. */
export interface AuditedEntry extends Entry {
  /** Decided its periods; null in entries that no period counts. */
  readonly countedAtMs: number | null;
  readonly ratesId: number | null;
  readonly costNano: number | null;
  readonly startedAtMs: number | null;
  readonly totalMs: number | null;
}

/** An entry with its place in the chain. */
export interface ListedEntry extends AuditedEntry, Pick<AnchoredEntry, "hash" | "chained"> {}
