import type { Anchor } from "../base/money/anchor.ts";

/** The ledger's chain (`base/money/chain.ts`): the newest hashes, and the anchors. */
export interface ChainRecords {
  /** The newest hash of each account that has one. */
  heads(): Promise<readonly ChainHead[]>;
  /** All anchors, by number. */
  anchors(): Promise<readonly Anchor[]>;
  /** The newest anchor that covers no entry after this one. */
  newest(throughId?: number): Promise<Anchor | null>;
  /**
   * Anchors the entries after the newest anchor. Returns what is the newest then: the same if there are none, and another process's
   * if that was faster. Null without any entry. Throws `unchained` for an entry without a hash after one that has one.
   */
  anchor(order: AnchorOrder): Promise<Anchor | null>;
  /** Whether gateways of several releases share the database. An older one writes entries without hashes. */
  isMixed(): Promise<boolean>;
}

export interface ChainHead {
  readonly accountId: string;
  readonly hash: string;
}

export interface AnchorOrder {
  readonly nowMs: number;
  /** How many entries to add at most. */
  readonly limit: number;
  readonly acceptsUnchained: boolean;
}
