import type { BoundState } from "../base/money/bound.ts";
import type { KeyMode } from "../store/store.ts";

/**
 * A key's current numbers. Balance, purchases and holds belong to its account; today's and lifetime spend, the last cost,
 * requests and tokens to the key itself. Numbers that the key's mode does not have are 0, or null where null means "no limit".
 */
export interface AccountSummary {
  readonly mode: KeyMode;
  /** Postpaid: `posted` can be below 0, and `available` is infinite. */
  readonly isPostpaid: boolean;
  /** The account's caps, then the key's own. */
  readonly caps: readonly BoundState[];
  /** In nano-credits and 0 for token-budget keys, up to `lastCostNano`. */
  readonly posted: number;
  readonly held: number;
  readonly available: number;
  readonly purchased: number;
  readonly used: number;
  readonly todaySpend: number;
  readonly lifetimeSpend: number;
  readonly lastCostNano: number;
  /** From usage records. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** Tokens of the current period. Only token-budget keys have these. */
  readonly budgetTokens: number | null;
  readonly budgetUsed: number;
  readonly budgetHeld: number;
  readonly budgetRemaining: number | null;
  readonly periodEndsMs: number | null;
  /** Sums that may exceed what a double holds exactly; the fields of the same names above are rounded. */
  readonly exact: {
    readonly purchased: bigint;
    readonly used: bigint;
    readonly todaySpend: bigint;
    readonly lifetimeSpend: bigint;
  };
}
