import type { KeyMode } from "../base/key-attributes.ts";
import type { CapLimit, CapRecord, CapTotals } from "./account-records.ts";

/** A limit of what each value of a label, or one of them, may spend: within a key, an account, or the whole gateway. */
export interface NewValueCap extends CapLimit {
  /** `cap_…`. */
  readonly id: string;
  /** One of both at most; null for both means the whole gateway. */
  readonly keyId: string | null;
  readonly accountId: string | null;
  /** The unit: accounts of the other mode are not counted. */
  readonly mode: KeyMode;
  /** `owner`, `user` or `tag:NAME`. */
  readonly label: string;
  /** The only value that it limits; null to limit each. */
  readonly value: string | null;
  /** Requests without the label count together, as the value `''`. Otherwise they need it. */
  readonly isOptional: boolean;
  /** Maximum number of values that it counts in a period. */
  readonly maxValues: number;
  /** The model that a request it denies runs on instead; null to reject such requests. */
  readonly thenModel: string | null;
  /** Even if the request continues what only the denied model has. */
  readonly thenAlways: boolean;
}

export interface ValueCapRecord extends NewValueCap {
  readonly no: number;
  /** How much the limit is raised in the period that begins at `extraPeriodMs`. */
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** What an operator has raised a value's limit by, in one period alone. */
export interface ValueRaise {
  readonly capNo: number;
  readonly value: string;
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** What a value has used: as of `CapTotals`. */
export interface ValueTotals extends ValueRaise {
  readonly periodStartMs: number;
  readonly used: number;
  readonly laterUsed?: string | null;
}

export interface ValueCapChanges {
  readonly limit?: number;
  readonly period?: CapLimit["period"];
  readonly models?: string | null;
  readonly maxValues?: number;
  readonly thenModel?: string | null;
  readonly thenAlways?: boolean;
}

/** All of them, because there are few. */
export interface ValueCapState {
  readonly caps: readonly ValueCapRecord[];
  readonly raises: readonly ValueRaise[];
}

/** What decides which caps can hold for some keys or accounts. */
export interface CapCandidates {
  readonly values: readonly string[];
  readonly keyIds: readonly string[];
  readonly accountIds: readonly string[];
}

/** What all values of a cap have used in its current period. */
export interface CountedValues {
  readonly capNo: number;
  /** How many have used something. */
  readonly counted: number;
  readonly used: number;
  /** What single values are raised by. */
  readonly raised: number;
}

/** A cap of a key or an account. */
export interface OwnedCap extends CapRecord, CapTotals {
  readonly keyId: string | null;
  readonly accountId: string | null;
  readonly mode: KeyMode;
}

/** Transactions about caps by value. They fail with `changed` if anything was changed since `sinceRevision`. */
export interface ValueCapStore {
  /** Limits by value. A new one counts what its current period has seen of charges that have the label stored. */
  valueCaps(): Promise<readonly ValueCapRecord[]>;
  insertValueCap(cap: NewValueCap, nowMs: number, sinceRevision?: number): Promise<ValueCapRecord>;
  /** Another period or other models count from the entries again, and end what the limit was raised by. */
  updateValueCap(
    id: string,
    changes: ValueCapChanges,
    nowMs: number,
    sinceRevision?: number,
  ): Promise<ValueCapRecord>;
  /** Raises the limit for its current period, of one value or of all. */
  raiseValueCap(id: string, amount: number, value: string | null, nowMs: number): Promise<void>;
  removeValueCap(id: string): Promise<ValueCapRecord>;
  /** What a cap has counted, the most first. */
  valueTotals(capNo: number): Promise<readonly ValueTotals[]>;
  /** Caps for each value, for one of these values, and within one of these keys or accounts. */
  bindingCaps(candidates: CapCandidates): Promise<readonly ValueCapRecord[]>;
  /** What these values have used of these caps. */
  totalsOfValues(capNos: readonly number[], values: readonly string[]): Promise<readonly ValueTotals[]>;
  /** Counted values of every cap with spend or a raise in its current period. */
  countedValues(nowMs: number): Promise<readonly CountedValues[]>;
  /** The caps of all keys and accounts, in the order in which they were created. */
  ownedCaps(): Promise<readonly OwnedCap[]>;
  /** Deletes values whose period ended more than a day ago, at most `limit`. Returns how many. */
  pruneCapValues(nowMs: number, limit: number): Promise<number>;
}
