import type { KeyMode } from "../base/key-attributes.ts";
import type { Entry } from "./records.ts";

/** The ledger as others follow it: entries by id, up to where no earlier one can still be written. */
export interface FeedRecords {
  /** Oldest first. They are durable, so their ids are never used again. */
  entries(afterId: number, limit: number): Promise<readonly FeedEntry[]>;
  entry(id: number): Promise<FeedEntry | null>;
  totals(range: EntryRange): Promise<FeedTotals>;
}

export interface FeedEntry extends Entry {
  /** The mode of the account, which decides the unit of the amount. */
  readonly mode: KeyMode;
  readonly accountLabel: string | null;
  readonly keyLabel: string | null;
  /** As `readLabels` takes them. */
  readonly labels: string | null;
}

export interface EntryRange {
  readonly afterId: number;
  /** Included. */
  readonly throughId: number;
}

export interface FeedTotals {
  readonly count: number;
  /** The sum of the amounts of accounts with credit. A bigint, because it can exceed a double. */
  readonly nano: bigint;
}
