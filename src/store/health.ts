/** Why a store does not accept new requests. */
export interface StoreProblem {
  /** One sentence, also shown to clients. */
  readonly reason: string;
  /** The consequence and the advice, for the operator. */
  readonly advice: string;
  /** Only a new process can open the store again, so this one has to end. */
  readonly endsProcess?: true;
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
}

export function newStats(): StoreStats {
  return {
    batches: 0,
    items: 0,
    failedBatches: 0,
    lastBatchItems: 0,
    lastBatchMs: 0,
    pendingItems: 0,
  };
}
