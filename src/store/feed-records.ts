import type { KeyMode } from "../base/key-attributes.ts";
import type { Entry } from "./records.ts";

/** The ledger as others follow it: entries by id, up to where no earlier one can still be written. */
export interface FeedRecords {
  /** Oldest first. They are durable, so their ids are never used again. */
  entries(afterId: number, limit: number): Promise<readonly FeedEntry[]>;
  entry(id: number): Promise<FeedEntry | null>;
  totals(range: EntryRange): Promise<FeedTotals>;
  /** The id after which the entries of this time and later begin. */
  placeBefore(sinceMs: number): Promise<number>;
  /** Number and age of the entries after this one. */
  lagAfter(id: number): Promise<FeedLag>;
  /** Newest first. */
  restores(): Promise<readonly LedgerRestore[]>;
  readonly push: FeedPushRecords;
}

/** A backup was put in place: entries after this one were undone. */
export interface LedgerRestore {
  readonly atMs: number;
  /** 0 if the backup had none. */
  readonly throughId: number;
  /** The receiver of the feed has accepted a post that says so. */
  readonly isTold: boolean;
}

export interface FeedLag {
  /** Upper bound: ids of transactions that were rolled back are counted too. */
  readonly entries: number;
  /** The time of the oldest of them; null if none follows. */
  readonly sinceMs: number | null;
}

/**
 * The progress of pushing the feed. A change names the post that it is about, and does nothing if that is no longer the
 * pending one: a gateway that was suspended must not undo what another one has done.
 */
export interface FeedPushRecords {
  /** Null before it has begun. */
  state(): Promise<FeedPush | null>;
  /** Begins after this entry, unless it has begun. */
  begin(throughId: number, nowMs: number): Promise<void>;
  /** Stores the next post, and returns whether it is the pending one now. */
  prepare(post: FeedPost): Promise<boolean>;
  /** The body of the pending post. */
  body(pendingId: number): Promise<string | null>;
  accept(pendingId: number, nowMs: number): Promise<void>;
  postpone(pendingId: number, dueAtMs: number, problem: string): Promise<void>;
  stop(pendingId: number, stop: FeedStop): Promise<void>;
  /** Sends the pending post again, at once. Returns whether there is one. */
  resume(): Promise<boolean>;
}

export interface FeedPost {
  /** The post begins after this entry. */
  readonly afterId: number;
  /** The newest entry in it. */
  readonly pendingId: number;
  readonly body: string;
}

export interface FeedStop {
  readonly atMs: number;
  readonly problem: string;
  /** Identifies the receiver that rejected it. */
  readonly receiver: string;
}

export interface FeedPush {
  readonly throughId: number;
  /** Time at which the receiver accepted the post, or the push began. */
  readonly acceptedAtMs: number;
  readonly pendingId: number | null;
  readonly attempts: number;
  readonly dueAtMs: number;
  /** Why the last attempt failed; null if it did not. */
  readonly problem: string | null;
  /** Null unless the receiver has rejected the pending post. */
  readonly stoppedAtMs: number | null;
  readonly stoppedFor: string | null;
}

export interface FeedEntry extends Entry {
  /** The mode of the account, which decides the unit of the amount. */
  readonly mode: KeyMode;
  readonly accountLabel: string | null;
  readonly keyLabel: string | null;
  /** In the format that `readLabels` parses. */
  readonly labels: string | null;
  /** Null in entries from before the chain. */
  readonly hash: string | null;
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
