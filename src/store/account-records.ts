import type { BudgetPeriod, KeyMode } from "../base/key-attributes.ts";
import type { TpmLimit } from "../base/models/tpm-limit.ts";
import type { ContentLevel } from "../base/requests/content-level.ts";
import type { Tags } from "../base/requests/labels.ts";

/** The maximum that an operator allows per calendar period: nano-credits or tokens. */
export interface CapLimit {
  readonly limit: number;
  readonly period: Exclude<BudgetPeriod, "none">;
  /** The models it applies to, as a pattern; null means all. */
  readonly models: string | null;
}

/** A cap of a key or of an account. */
export interface CapRecord extends CapLimit {
  /** Its number in the database; 0 before it is stored. */
  readonly no: number;
  /** The amount by which the limit is raised in the period that begins at `extraPeriodMs`, and in no other. */
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** The totals of a cap: the latest period with a charge, and the charges of that period and later ones. */
export interface CapTotals {
  readonly no: number;
  readonly periodStartMs: number;
  readonly used: number;
  readonly laterUsed?: string | null;
}

/** A balance (credits) or a budget (tokens) that one or more keys are billed to. */
export interface AccountRecord {
  readonly id: string;
  readonly mode: KeyMode;
  readonly label: string | null;
  /** Postpaid: needs no balance, and `posted` can fall below 0. */
  readonly isPostpaid: boolean;
  /** Its keys are rejected from this time on; null while it is in use. */
  readonly closedAtMs: number | null;
  readonly budgetTokens: number | null;
  readonly period: BudgetPeriod;
  readonly createdAtMs: number;
  readonly caps: readonly CapRecord[];
  /** The caps of new keys. */
  readonly keyCaps: readonly CapLimit[];
  /** The maximum content level for its keys' requests; null leaves it to the configuration. */
  readonly content: ContentLevel | null;
  /** Tags for its keys' requests, unless the request or the key sets the same tag. */
  readonly tags: Tags | null;
  /** Limits for all its keys together. */
  readonly tpmLimits: readonly TpmLimit[] | null;
}

/** The attributes of an account that an operator can change. Caps have a separate operation. */
export type AccountChanges = Partial<Omit<AccountRecord, "id" | "mode" | "createdAtMs" | "caps">>;

/** Totals kept in addition to an account's entries, so that a summary takes the same time however long the history is. */
export interface AccountTotals {
  readonly accountId: string;
  /**
   * The sum of all entries except uncharged overruns. So it is below 0 for token budgets and can be for postpaid
   * accounts.
   */
  readonly posted: number;
  /** Top-ups and adjustments, so that posted = purchased − used. */
  readonly purchased: number;
  readonly used: number;
  /** The latest budget period with a charge, and the charges of that period. */
  readonly periodStartMs: number;
  readonly periodUsed: number;
  /** Amounts used in later periods, because a clock was set back, in the format of `base/money/later-use.ts`. */
  readonly laterUsed?: string | null;
  /** The latest time that a charge counts at. */
  readonly countedAtMs: number;
  /** The digits of `purchased`, which a double may not hold exactly; only where they were queried. */
  readonly purchasedDigits?: string;
}

/** Totals of a key itself, on any account. */
export interface KeyTotals {
  readonly keyId: string;
  /** The latest UTC day with a charge, and the charges of that day. */
  readonly day: number;
  readonly daySpend: number;
  /** Spend that was recorded for later days before the clock was set back. */
  readonly laterSpend?: string | null;
  readonly spent: number;
  /** From usage records, like the fields below, not from entries. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly lastCostNano: number;
  /** Decimal digits, if they come from a database: a double may not hold them exactly. */
  readonly daySpendDigits?: string;
  readonly spentDigits?: string;
}

/** A key's own totals and its account's. */
export type Totals = AccountTotals & KeyTotals;

/** A new account, before its first entry. */
export function emptyAccount(accountId: string): AccountTotals {
  return { accountId, posted: 0, purchased: 0, used: 0, periodStartMs: 0, periodUsed: 0, countedAtMs: 0 };
}

/** A new key, before its first charge. */
export function emptyKey(keyId: string): KeyTotals {
  return {
    keyId,
    day: 0,
    daySpend: 0,
    spent: 0,
    requests: 0,
    inputTokens: 0,
    outputTokens: 0,
    lastCostNano: 0,
  };
}

/** The owner of caps. */
export type CapOwner = { readonly keyId: string } | { readonly accountId: string };

export interface AccountQuery {
  readonly limit: number;
  /** The id of the last account of the previous page. */
  readonly after?: string | undefined;
}
