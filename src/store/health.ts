import type { Driver } from "./journal/driver-choice.ts";

/** Why a store refuses new work. */
export interface Trouble {
  /** One sentence, also shown to clients. */
  readonly reason: string;
  /** What it means and what to do, for the operator. */
  readonly advice: string;
}

/** Counters that metrics export. */
export interface StoreStats {
  batches: number;
  items: number;
  failedBatches: number;
  lastBatchItems: number;
  lastBatchMs: number;
  /** Items waiting for the next batch or being written. */
  pendingItems: number;
  journal: Driver;
}

export function newStats(): StoreStats {
  return {
    batches: 0,
    items: 0,
    failedBatches: 0,
    lastBatchItems: 0,
    lastBatchMs: 0,
    pendingItems: 0,
    journal: "inline",
  };
}
