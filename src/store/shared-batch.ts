import type { CapState, ChargeOrder, ChargeResult, HoldOrder, HoldVerdict } from "./node.ts";
import type {
  AccountRecord,
  AccountTotals,
  AttemptSums,
  ChargeEntry,
  EntryKind,
  HoldProgress,
  JournaledOutcome,
  JournalItem,
  KeyRecord,
  KeyTotals,
  Outcome,
} from "./records.ts";
import type { ValueCapRecord, ValueTotals } from "./value-cap-records.ts";

/**
 * One batch of a shared database: a transaction that locks and reads rows, decides, and writes. The database decides
 * nothing: these types are passed between it and `MoneyRules`.
 */

/** An account whose row is locked until the batch is written. */
export interface LockedAccount
  extends Pick<AccountRecord, "id" | "mode" | "isPostpaid" | "budgetTokens" | "period">,
    Omit<AccountTotals, "accountId" | "purchased" | "used" | "purchasedDigits"> {
  readonly no: number;
  readonly isClosed: boolean;
  readonly purchasedDigits: string;
  readonly usedDigits: string;
  readonly held: number;
  /** The hash of its newest entry; null before its first that has one. */
  readonly chainHash: string | null;
}

/** A key whose sums and caps are locked. Its own record is only read: a change of it takes effect with the next batch. */
export interface LockedKey
  extends Pick<KeyRecord, "id" | "status" | "expiresAtMs" | "maxConcurrent">,
    Omit<KeyTotals, "keyId" | "daySpend" | "spent" | "daySpendDigits" | "spentDigits"> {
  readonly no: number;
  readonly accountNo: number;
  readonly daySpendDigits: string;
  readonly spentDigits: string;
  /** Number of its open holds; 0 without a limit of concurrent requests. */
  readonly inFlight: number;
}

/** A cap of one of these accounts or keys. */
export interface LockedCap extends CapState {
  readonly accountNo: number | null;
  readonly keyNo: number | null;
}

export interface LockedHold {
  readonly id: string;
  readonly accountNo: number;
  readonly amount: number;
  readonly periodStartMs: number;
  readonly countedAtMs: number;
  readonly openedAtMs: number;
  readonly model: string;
  readonly labels: string | null;
  /** It counts against its key's limit of concurrent requests. */
  readonly isInFlight: boolean;
}

/** An entry of an exchange whose hold has ended. */
export interface EarlierEntry {
  readonly id: number;
  readonly exchangeId: string;
  readonly kind: EntryKind;
  readonly amount: number;
  readonly outcome: Outcome | null;
  readonly atMs: number;
  readonly ratesId: number | null;
  readonly rates: string | null;
  /** JSON. */
  readonly quantities: string | null;
}

/** A cap by value. `latestMs` and `taken` are of values that are not among `LockedRows.capValues`; null if no new value needs them. */
export interface LockedValueCap extends ValueCapRecord {
  readonly latestMs: number | null;
  readonly taken: number;
}

export interface LockedValue extends ValueTotals {
  readonly held: number;
}

export type ValueSums = Pick<LockedValue, "capNo" | "value" | "periodStartMs" | "used" | "held">;

export interface LockedRows {
  /** The transaction that has the locks. */
  readonly transaction: string;
  /** The database's clock; null in tests, where the nodes' clocks decide. */
  readonly nowMs: number | null;
  readonly accounts: readonly LockedAccount[];
  readonly keys: readonly LockedKey[];
  /** By number. */
  readonly caps: readonly LockedCap[];
  /** Absent while there are no caps by value. */
  readonly valueCaps?: readonly LockedValueCap[];
  readonly capValues?: readonly LockedValue[];
  readonly holds: readonly LockedHold[];
  /** By id. Only for ends whose holds are gone, like the next field. */
  readonly entries: readonly EarlierEntry[];
  /** Numbers for new entries, one for each charge. */
  readonly entryIds: readonly number[];
  /** Exchanges whose Idempotency-Key another exchange has claimed since. */
  readonly superseded: readonly string[];
}

/** The charge at a hold's end: plain JSON, because it may be stored in a file. */
export interface EndCharge
  extends Omit<ChargeOrder, "holdId" | "keyId" | "response" | "turns" | "rates" | "quantities">,
    Pick<ChargeEntry, "rates" | "quantities"> {}

export interface EndedHold {
  readonly id: string;
  readonly key: string;
  /** Null for a release. */
  readonly charge: EndCharge | null;
}

/** The node was taken over, and another request has the claim now: this one is not charged and must not be delivered. */
export const superseded = { isSuperseded: true } as const;
export type EndResult = ChargeResult | typeof superseded;

/** Stored with the batch's number, for a node that lost it. In the order of the ends and the orders. */
export interface BatchReply {
  readonly charges: readonly EndResult[];
  readonly verdicts: readonly HoldVerdict[];
}

/** The sums that a database keeps in addition to entries, as absolute values. */
export interface AccountSums
  extends Pick<AccountTotals, "posted" | "periodStartMs" | "periodUsed" | "countedAtMs"> {
  readonly held: number;
  readonly usedDigits: string;
}

export interface KeyFundsSums
  extends Pick<KeyTotals, "day" | "requests" | "inputTokens" | "outputTokens" | "lastCostNano"> {
  readonly daySpendDigits: string;
  readonly spentDigits: string;
}

export type CapSums = Pick<CapState, "no" | "periodStartMs" | "used" | "held">;

export interface OpenedHold extends LockedHold {
  readonly keyNo: number;
  readonly requestedModel: string | null;
}

/** A charge in the form that a journal takes, with what only a shared database needs. */
export interface BookedCharge {
  readonly item: JournalItem & { readonly kind: "settle" };
  readonly keyNo: number;
  readonly accountNo: number;
  readonly openedAtMs: number;
  /** Set if the node had been taken over: the entry of the takeover's charge, null if it charged nothing. */
  readonly late?: { readonly completes: number | null } | undefined;
}

export interface BatchDecision {
  readonly reply: BatchReply;
  /** The rows that change. */
  readonly accounts: readonly (AccountSums & { readonly no: number })[];
  readonly keys: readonly (KeyFundsSums & { readonly no: number })[];
  readonly caps: readonly CapSums[];
  readonly capValues: readonly ValueSums[];
  /** The ids of holds that end. */
  readonly ended: readonly string[];
  readonly opened: readonly OpenedHold[];
  readonly charges: readonly BookedCharge[];
  readonly attempts: readonly AttemptSums[];
}

/** The rules of money, which a store does not know. */
export interface MoneyRules {
  /** Ends holds before opening others, so that these can use what was reserved. */
  decide(rows: LockedRows, ends: readonly EndedHold[], orders: readonly HoldOrder[]): BatchDecision;
  /** The charge of a hold whose node was taken over. */
  interrupt(hold: HoldProgress, atMs: number): JournaledOutcome;
}
