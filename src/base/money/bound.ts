import type { BudgetPeriod } from "../key-attributes.ts";

/** The kinds of limit: the account's balance or budget, and every cap that applies to a request. */
export type BoundKind =
  | "balance"
  | "budget"
  | "key_cap"
  | "account_cap"
  | "owner_cap"
  | "user_cap"
  | "tag_cap";

/** Why a limit denies a hold. If several limits deny it, the client sees the first of these reasons. */
export type Denial = "used_up" | "too_little" | "reserved";
const denialOrder: readonly Denial[] = ["used_up", "too_little", "reserved"];

/** The model that a request runs on instead of being rejected. */
export interface StepDown {
  readonly model: string;
  /** Applies even if the request continues something that only the denied model has. */
  readonly isAlways: boolean;
}

/** The current state of a limit. Amounts are nano-credits or tokens. */
export interface BoundState {
  readonly bound: BoundKind;
  /** The balance can go below 0: `left` is how much more the account can owe. */
  readonly isPostpaid?: boolean;
  /** Null for a balance, and for a budget that never resets. */
  readonly period: Exclude<BudgetPeriod, "none"> | null;
  /** The models that a cap applies to; null for all. */
  readonly models: string | null;
  /** The value that a cap by value counts; null where requests have none. */
  readonly value?: string | null;
  /** The label that the cap counts: `owner`, `user` or `tag:NAME`. */
  readonly label?: string;
  /** Maximum number of values that the cap counts, if it was reached. */
  readonly maxValues?: number;
  /** Absent if requests are rejected. */
  readonly stepDown?: StepDown;
  /** Null for a balance. */
  readonly limit: number | null;
  /** The part of a cap's limit that was added for the current period only. */
  readonly extra?: number;
  readonly used: number;
  readonly held: number;
  /** Reserved amounts included. */
  readonly left: number;
  readonly resetsAtMs: number | null;
}

export interface DeniedBy {
  readonly denial: Denial;
  readonly state: BoundState;
}

/** The parts of a hold that a limit needs. */
export interface HeldAmount {
  readonly amount: number;
  /** Start of the budget period it counts against; 0 for credit. */
  readonly periodStartMs: number;
  /** The time that decides which period of each cap it counts in. */
  readonly countedAtMs: number;
  /** The hold is from before a crash, so nothing is reserved for it any more. */
  readonly isLost?: boolean;
}

/** Returns the denial to report: by its reason, then the limit that resets last. */
export function firstDenial(one: DeniedBy | null, other: DeniedBy): DeniedBy {
  if (one === null) return other;
  const order = denialOrder.indexOf(one.denial) - denialOrder.indexOf(other.denial);
  if (order !== 0) return order < 0 ? one : other;
  return resetOf(other) > resetOf(one) ? other : one;
}

function resetOf({ state }: DeniedBy): number {
  return state.resetsAtMs ?? Number.POSITIVE_INFINITY;
}
