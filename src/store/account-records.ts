import type { BudgetPeriod, KeyMode } from "../base/key-attributes.ts";
import type { TpmLimit } from "../base/models/tpm-limit.ts";
import type { ContentLevel } from "../base/requests/content-level.ts";
import type { Tags } from "../base/requests/labels.ts";

/** What an operator allows at most in a calendar period: credits in nano, or tokens. */
export interface CapLimit {
  readonly limit: number;
  readonly period: Exclude<BudgetPeriod, "none">;
  /** Only models that match; null means all. */
  readonly models: string | null;
}

/** A cap of a key or of an account. */
export interface CapRecord extends CapLimit {
  /** Its number in the database; 0 before it is there. */
  readonly no: number;
  /** What the limit is raised by, in the period that begins at `extraPeriodMs` alone. */
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** What a cap has counted: the latest period with a charge, and the charges of that period. */
export interface CapTotals {
  readonly no: number;
  readonly periodStartMs: number;
  readonly used: number;
}

/** Who pays: a balance (credit) or a budget (tokens) that one or more keys draw on. */
export interface AccountRecord {
  readonly id: string;
  readonly mode: KeyMode;
  readonly label: string | null;
  /** Billed afterwards: needs no balance, and `posted` may fall below 0. */
  readonly isOpen: boolean;
  /** Its keys are refused from then on; null while it is in use. */
  readonly closedAtMs: number | null;
  readonly budgetTokens: number | null;
  readonly period: BudgetPeriod;
  readonly createdAtMs: number;
  readonly caps: readonly CapRecord[];
  /** What new keys get. */
  readonly keyCaps: readonly CapLimit[];
  /** What may be recorded of its keys' requests at most; null leaves that to the configuration. */
  readonly content: ContentLevel | null;
  /** What the requests of its keys are tagged with, where neither they nor the key say otherwise. */
  readonly tags: Tags | null;
  /** Of all its keys together. */
  readonly tpmLimits: readonly TpmLimit[] | null;
}

/** What an operator may change about an account. Its caps are set by an operation of their own. */
export type AccountChanges = Partial<
  Pick<
    AccountRecord,
    | "label"
    | "isOpen"
    | "closedAtMs"
    | "budgetTokens"
    | "period"
    | "keyCaps"
    | "content"
    | "tags"
    | "tpmLimits"
  >
>;

/** Sums kept beside an account's entries, so that a summary takes the same time however long the history is. */
export interface AccountTotals {
  readonly accountId: string;
  /** The sum of all entries but overruns that were not charged; for token budgets and Postpaid accounts therefore below 0. */
  readonly posted: number;
  /** Top-ups and adjustments, so that posted = purchased − used. */
  readonly purchased: number;
  readonly used: number;
  /** The latest budget period with a charge, and the charges of that period. */
  readonly periodStartMs: number;
  readonly periodUsed: number;
  /** The latest moment that a charge has counted at. */
  readonly countedAtMs: number;
  /** The digits of a sum that a double may not hold exactly, where it was asked for. */
  readonly purchasedDigits?: string;
}

/** What a key has used itself, whichever account paid for it. */
export interface KeyTotals {
  readonly keyId: string;
  /** The latest UTC day with a charge, and the charges of that day. */
  readonly day: number;
  readonly daySpend: number;
  readonly spent: number;
  /** This and the following come from usage records, not from entries. */
  readonly requests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly lastCostNano: number;
  /** As digits, where they come from a database: they may be larger than a double holds exactly. */
  readonly daySpendDigits?: string;
  readonly spentDigits?: string;
}

/** A key's own totals and those of its account. */
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

/** Whose caps they are. */
export type CapOwner = { readonly keyId: string } | { readonly accountId: string };

export interface AccountQuery {
  readonly limit: number;
  /** The id of the last one that was listed. */
  readonly after?: string | undefined;
}
