import type { Changes, ParkedHold, PricedCharge } from "../store/store.ts";
import type { SettleResult } from "./account.ts";
import type { Hold, HoldRequest, ReplacedHold, Settlement } from "./hold.ts";
import type { AccountSummary } from "./key-funds.ts";

export type { BoundState } from "../base/money/bound.ts";
export type { SettleResult } from "./account.ts";
export type { Hold, HoldRequest, ReplacedHold, Settlement } from "./hold.ts";
export type { AccountSummary } from "./key-funds.ts";

/**
 * The protocol that keeps money right, in every store:
 *
 * 1. An account's `posted` balance changes only by an append-only entry. `available = posted − held`.
 * 2. A hold is decided atomically over every limit that applies: the account's balance or budget, and the caps of the account
 *    and of the key for its model. Nothing can happen between the checks and the reservations. One moment, which never
 *    goes back, decides all its periods; the hold is charged to these, whenever it ends (8 has one exception).
 * 3. A hold ends exactly once: settled or released. A second attempt to end it does nothing. Before anything is produced, it can be
 *    replaced in one step by one for another model. If a limit denies that one, the former stays.
 * 4. Charges are written in batches: one transaction and one fsync serve every request that is waiting.
 * 5. What a hold has produced so far is journaled in the background; nothing waits for it.
 * 6. `settle` resolves when the charge is durable. Only then may the bytes that end the response leave.
 * 7. A hold whose process died is charged for its journaled progress (`interrupted`), and released without any.
 * 8. A cost above its hold is charged as far as every limit allows. The rest is recorded as an `overrun` entry. On a prepaid
 *    account it is not charged: its amount is above 0, and the balance never becomes negative. On a postpaid account it
 *    is owed: its amount is below 0 and counts like a charge, also against the caps that it passes. If a period of the
 *    hold has ended by then, what its limit still had is no longer known: a prepaid account or a budget is charged the
 *    hold in its periods, and the rest, as an `overrun` below 0, within the limits and in the periods of that moment.
 * 9. A parked hold belongs to no process: it is stored with its amount, and only its settle, or `unpark`, ends it.
 * 10. While charges cannot be written, no new hold is given. What runs is settled as soon as it can be.
 */
export interface Accounts {
  /** Holds of this process that have not ended. */
  readonly openHolds: number;

  /**
   * Throws or rejects with `insufficient_credit`, `balance_temporarily_reserved`, `limit_reached` or
   * `service_unavailable`. Then nothing is held.
   */
  hold(request: HoldRequest): Hold | Promise<Hold>;

  /**
   * Holds for another model in place of what an open hold is for, before anything is produced. Throws or rejects as `hold` does;
   * then the hold is as before.
   */
  replace(hold: Hold, by: ReplacedHold): void | Promise<void>;

  /** Notes what a stream has produced so far. It is handed to the journal within 50 ms. */
  progress(hold: Hold, soFar: PricedCharge): void;

  /**
   * Resolves when the charge is durable, with null if the hold had already ended. From then on `hold.charged` is the
   * amount charged.
   */
  settle(hold: Hold, settlement: Settlement): Promise<SettleResult | null>;

  /** Releases the hold without waiting for its row to be deleted. False if it had already ended, or is parked. */
  release(hold: Hold): boolean;

  /** The store has parked it: from now on it outlives this process. */
  parked(hold: Hold): void;
  /** A parked hold, to be settled. Null if it has ended. */
  adopt(parked: ParkedHold): Hold | null;
  /** Releases a parked hold; resolves once that is durable. */
  unpark(hold: Hold): Promise<void>;

  /**
   * The amount that the hold's account can still spend after all holds, as known to this process. Infinite for a budget
   * without a limit.
   */
  remaining(hold: Hold): number;

  /** False if the key could pay when it last tried, as known to this process. */
  mayBeSpent(keyId: string): boolean;

  /** One summary per id, in order. The time does not depend on the length of the history. */
  summaries(keyIds: readonly string[]): readonly AccountSummary[] | Promise<readonly AccountSummary[]>;

  /** Tags of the key that caps count, which override the client's. As known to this process. */
  countedTags(keyId: string): readonly string[];

  /** The total of this process's open holds. */
  held(): HeldSums;

  /** Costs that this process settled but did not charge. The ledger has them as `overrun` entries above 0. */
  readonly overrun: HeldSums;

  /** Applies changes by other processes. Each entry must be passed exactly once. */
  apply(changes: Changes): void;
}

export interface HeldSums {
  /** For credit accounts, in nano-credits. */
  readonly nano: number;
  /** For token budgets, in tokens. */
  readonly tokens: number;
}
