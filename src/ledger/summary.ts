import type { KeyMode } from "../store/store.ts";
import type { BoundState } from "./bound.ts";

/**
 * A key's current figures. What may be spent, was bought and is held are its account's; spend of today and of its
 * lifetime, the last cost, requests and tokens are its own. Those that its mode does not have are 0, or null where null
 * means "no limit".
 */
export interface AccountSummary {
  readonly mode: KeyMode;
  /** Billed afterwards: `posted` may be below 0, and `available` is infinite. */
  readonly isOpen: boolean;
  /** Of its account, then its own. */
  readonly caps: readonly BoundState[];
  /** Nano-credits, and 0 for token-budget keys, up to `lastCostNano`. */
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
  /** Tokens of the current period; of token-budget keys only. */
  readonly budgetTokens: number | null;
  readonly budgetUsed: number;
  readonly budgetHeld: number;
  readonly budgetRemaining: number | null;
  readonly periodEndsMs: number | null;
  /** Sums that may be larger than a double holds exactly; those of the same names above are rounded. */
  readonly exact: {
    readonly purchased: bigint;
    readonly used: bigint;
    readonly todaySpend: bigint;
    readonly lifetimeSpend: bigint;
  };
}
