import type { BudgetPeriod } from "../store/store.ts";

/** What limits a key: its account's balance or budget, and every cap that a request falls under. */
export type BoundKind = "balance" | "budget" | "key_cap" | "account_cap";

/** Why a bound does not allow a hold. If several deny it, the client is told the first of these. */
export type Denial = "used_up" | "too_little" | "reserved";
const denialOrder: readonly Denial[] = ["used_up", "too_little", "reserved"];

/** A bound as it is now. Amounts are nano-credits or tokens. */
export interface BoundState {
  readonly bound: BoundKind;
  /** A balance that may be below 0: what is left is how much more may be owed. */
  readonly isPostpaid?: boolean;
  /** Null for a balance, and for a budget that never resets. */
  readonly period: Exclude<BudgetPeriod, "none"> | null;
  /** The models that a cap is for; null for all. */
  readonly models: string | null;
  /** Null for a balance. */
  readonly limit: number | null;
  /** The part of a cap's limit that is for its running period alone. */
  readonly extra?: number;
  readonly used: number;
  readonly held: number;
  /** Including what is held. */
  readonly left: number;
  readonly resetsAtMs: number | null;
}

export interface DeniedBy {
  readonly denial: Denial;
  readonly state: BoundState;
}

/** What a bound needs to know of a hold. */
export interface HeldAmount {
  readonly amount: number;
  /** Start of the budget period it counts against; 0 for credit. */
  readonly periodStartMs: number;
  /** The moment that decides which period of each cap it counts in. */
  readonly countedAtMs: number;
  /** It was held before a crash, and nothing is reserved for it any more. */
  readonly isLost?: boolean;
}

/** Of two denials the one to tell: by its kind, then the limit that resets last. */
export function firstDenial(one: DeniedBy | null, other: DeniedBy): DeniedBy {
  if (one === null) return other;
  const order = denialOrder.indexOf(one.denial) - denialOrder.indexOf(other.denial);
  if (order !== 0) return order < 0 ? one : other;
  return resetOf(other) > resetOf(one) ? other : one;
}

function resetOf({ state }: DeniedBy): number {
  return state.resetsAtMs ?? Number.POSITIVE_INFINITY;
}
