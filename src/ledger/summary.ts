import type { KeyMode } from "../store/store.ts";

/** A key's current figures. Those that its mode does not have are 0, or null where null means "no limit". */
export interface AccountSummary {
  readonly mode: KeyMode;
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
  readonly exact: { readonly purchased: bigint; readonly used: bigint; readonly todaySpend: bigint };
}
