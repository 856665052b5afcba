import type { KeyMode } from "../base/key-attributes.ts";
import type { CapLimit, CapRecord, CapTotals } from "./account-records.ts";

/** A limit on the spend of each value of a label, or of one value: within a key, an account, or the whole gateway. */
export interface NewValueCap extends CapLimit {
  /** `cap_…`. */
  readonly id: string;
  /** At most one of them is set; if both are null, the whole gateway. */
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
  /** The amount by which the limit is raised in the period that begins at `extraPeriodMs`. */
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** An operator's raise of a value's limit, in one period only. */
export interface ValueRaise {
  readonly capNo: number;
  readonly value: string;
  readonly extra: number;
  readonly extraPeriodMs: number;
}

/** The use of a value, with the same meaning as in `CapTotals`. */
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

/** All caps, because there are few. */
export interface ValueCapState {
  readonly caps: readonly ValueCapRecord[];
  readonly raises: readonly ValueRaise[];
}

/** The fields that determine which caps can apply to some keys or accounts. */
export interface CapCandidates {
  readonly values: readonly string[];
  readonly keyIds: readonly string[];
  readonly accountIds: readonly string[];
}

/** The use of all values of a cap in its current period. */
export interface CountedValues {
  readonly capNo: number;
  /** Number of values with any use. */
  readonly counted: number;
  readonly used: number;
  /** The amounts by which single values are raised. */
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
  /** A change of period or models recounts from the entries, and ends the raises. */
  updateValueCap(
    id: string,
    changes: ValueCapChanges,
    nowMs: number,
    sinceRevision?: number,
  ): Promise<ValueCapRecord>;
  /** Raises the limit for its current period, of one value or of all. */
  raiseValueCap(id: string, amount: number, value: string | null, nowMs: number): Promise<void>;
  removeValueCap(id: string): Promise<ValueCapRecord>;
  /** The counted values of a cap, the highest use first. */
  valueTotals(capNo: number): Promise<readonly ValueTotals[]>;
  /** Caps for each value, for one of these values, and within one of these keys or accounts. */
  bindingCaps(candidates: CapCandidates): Promise<readonly ValueCapRecord[]>;
  /** The use of these values in these caps. */
  totalsOfValues(capNos: readonly number[], values: readonly string[]): Promise<readonly ValueTotals[]>;
  /** Counted values of every cap with spend or a raise in its current period. */
  countedValues(nowMs: number): Promise<readonly CountedValues[]>;
  /** The caps of all keys and accounts, in the order in which they were created. */
  ownedCaps(): Promise<readonly OwnedCap[]>;
  /** Deletes values whose period ended more than a day ago, at most `limit`. Returns how many. */
  pruneCapValues(nowMs: number, limit: number): Promise<number>;
}
