import type { KeyAttributes, KeyMode } from "../base/key-attributes.ts";
import type { TpmLimit } from "../base/models/tpm-limit.ts";
import type { Quantities, StoredRates } from "../base/money/rates.ts";
import type { AttemptRecord } from "../base/requests/attempt.ts";
import type { ContentLevel } from "../base/requests/content-level.ts";
import type { Tags } from "../base/requests/labels.ts";
import type { Usage, UsageBasis } from "../base/usage/usage.ts";
import type { AccountRecord, AccountTotals, CapRecord, CapTotals } from "./account-records.ts";
import type { AttemptCount, AttemptSums, AttemptTarget } from "./attempt-sums.ts";
import type { BackgroundEnd, BackgroundRecord, OwnedBackground } from "./background-records.ts";
import type { ResponsePart, StoredResponse } from "./response-records.ts";
import type { SignIn } from "./sign-in-records.ts";
import type { TurnRecord } from "./turn-records.ts";
import type { ValueCapState } from "./value-cap-records.ts";

/** The store's records: plain data without behavior. */

export type * from "./account-records.ts";
export { emptyAccount, emptyKey } from "./account-records.ts";
export type * from "./attempt-sums.ts";
export type * from "./background-records.ts";
export type * from "./response-records.ts";
export type * from "./turn-records.ts";
export type StoredKeyStatus = "active" | "disabled" | "suspended" | "revoked";
export type { BudgetPeriod, KeyAttributes, KeyMode } from "../base/key-attributes.ts";

/** A charge of a session: what it ran on, and how much of its input the provider had cached. */
export interface SessionCharge {
  readonly model: string;
  readonly cachedInputTokens: number;
}

export interface KeyRecord extends KeyAttributes {
  readonly id: string;
  /** The account to bill. `mode`, `budgetTokens`, `period`, `isPostpaid` and `isClosed` are the account's. */
  readonly accountId: string;
  readonly isPostpaid: boolean;
  readonly isClosed: boolean;
  /** The account's own `content`, `tags` and `tpmLimits`. */
  readonly accountContent: ContentLevel | null;
  readonly accountTags: Tags | null;
  readonly accountTpmLimits: readonly TpmLimit[] | null;
  readonly caps: readonly CapRecord[];
  /** SHA-256 of the whole key, hex. */
  readonly hash: string;
  /** The first 12 characters of the key; not secret. */
  readonly prefix: string;
  readonly mode: KeyMode;
  readonly status: StoredKeyStatus;
  readonly createdAtMs: number;
  /** The secret before the last rotation, valid until `previousUntilMs`. */
  readonly previousHash: string | null;
  readonly previousUntilMs: number | null;
}

/** Everything about a key that can change, except its account and its caps. */
export type KeyChanges = Partial<
  Omit<KeyRecord, "id" | "accountId" | "mode" | "createdAtMs" | "caps" | OfAccount>
>;

type OfAccount = "isPostpaid" | "isClosed" | "accountContent" | "accountTags" | "accountTpmLimits";

/**
 * `charge` and `overrun` come from exchanges, `topup` and `adjustment` from operators. Entries are only
 * ever added. Amounts are nano-credits for credit keys and tokens for token-budget keys.
 * An `overrun` is the part of a cost above its hold and every limit. Above 0 it was not charged, and is not in `posted`.
 * Below 0 a postpaid account owes it: it counts like a charge.
 */
export type EntryKind = "topup" | "adjustment" | "charge" | "overrun";

/** The outcome of a charged exchange; only `cancelled` and `interrupted` have no usage record. */
export type Outcome = "completed" | "failed" | "cancelled" | "interrupted";

/** The outcome of any exchange of a key. */
export type RequestOutcome = Outcome | "rejected";

export interface Entry {
  readonly id: number;
  readonly accountId: string;
  /** Null for entries of the account that belong to no key. */
  readonly keyId: string | null;
  readonly kind: EntryKind;
  /** Signed like its effect on `posted`: charges and debts are below 0, top-ups above. An uncharged overrun is above 0. */
  readonly amount: number;
  readonly atMs: number;
  readonly exchangeId: string | null;
  readonly basis: UsageBasis | null;
  readonly outcome: Outcome | null;
  /** Start of the budget period it counts in (token keys), else 0. */
  readonly periodStartMs: number;
  readonly reference: string | null;
  readonly note: string | null;
  /** This and the following fields are null unless the entry is a charge. */
  readonly model: string | null;
  /** The model name in the request; null if it was the model's id. */
  readonly requestedModel: string | null;
  readonly provider: string | null;
  /**
   * The charged quantities and their rates, as written by `base/money/rates.ts`. Null in charges from before they
   * were recorded.
   */
  readonly quantities: Quantities | null;
  readonly rates: string | null;
  /** The list cost of a token-budget key's request; null for credit keys, and without a price. */
  readonly listCostNano: number | null;
}

/**
 * One exchange as reports and `/v1/usage` show it. Request totals, token totals and the last cost come from these
 * records.
 */
export interface UsageRecord {
  readonly exchangeId: string;
  readonly keyId: string;
  readonly atMs: number;
  readonly route: string;
  readonly model: string;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly stream: boolean;
  readonly outcome: Outcome;
  readonly status: number;
  readonly usage: Usage;
  readonly basis: UsageBasis;
  /** The charged amount: nano-credits for credit keys, 0 for token-budget keys. */
  readonly costNano: number;
  readonly firstByteMs: number | null;
  readonly totalMs: number;
  readonly attempts: number;
}

/** The start of a budget's period, and the time that decides which period of each cap something counts in. */
export interface CountedAt {
  readonly periodStartMs: number;
  readonly countedAtMs: number;
}

/** The facts that a hold was created with. The charge uses these values even if the key has changed since. */
export interface HeldFor extends CountedAt {
  readonly keyId: string;
  /** The account that holds the amount: the key may have moved since. */
  readonly accountId: string;
  readonly model: string;
  readonly requestedModel: string | null;
  readonly labels: string | null;
}

/** These fields alone. */
export function heldFor(hold: HeldFor): HeldFor {
  const { keyId, accountId, periodStartMs, countedAtMs, model, requestedModel, labels } = hold;
  return { keyId, accountId, periodStartMs, countedAtMs, model, requestedModel, labels };
}

/** The output of a hold so far. Recovery settles from it; a hold has no row before its first progress. */
export interface HoldProgress extends HeldFor {
  readonly holdId: string;
  readonly openedAtMs: number;
  /** The charge if no more output follows: nano-credits or tokens. */
  readonly chargeSoFar: number;
  /** The rates and quantities it is computed from; null if an earlier release journaled it. */
  readonly rates: StoredRates | null;
  readonly quantities: Quantities | null;
  /** The deployment that produces it; null if an earlier release journaled it. */
  readonly served: AttemptTarget | null;
}

export interface ChargeEntry extends HeldFor {
  readonly exchangeId: string;
  readonly atMs: number;
  /** Paid from the balance or owed, at least 0. */
  readonly charged: number;
  /** The part of `charged` that gets its own `overrun` entry, at least 0: see `SettleParts` of the ledger. */
  readonly owed: number;
  /** The periods that `owed` counts in; absent if they are the hold's. */
  readonly owedAt?: CountedAt | undefined;
  /** Not charged, at least 0; written as an `overrun` entry when above 0. */
  readonly overrun: number;
  readonly basis: UsageBasis;
  readonly outcome: Outcome;
  /** The rates for computing the cost, paid or not; null if an earlier release journaled it. */
  readonly rates: StoredRates | null;
  readonly quantities: Quantities | null;
  /** Empty after a crash: it is not journaled. */
  readonly provider: string;
  /** What a token-budget key's request would have cost; null for credit keys, and without a price. */
  readonly listCostNano: number | null;
}

/** A cost with everything needed to explain it later. */
export interface PricedCharge {
  /** Nano-credits, or tokens for token-budget keys. */
  readonly cost: number;
  readonly rates: StoredRates;
  readonly quantities: Quantities;
  /** What a token-budget key's request would have cost; null for credit keys, and without a price. */
  readonly listCostNano: number | null;
  /** The deployment that produced it; absent if no provider was called. */
  readonly served?: AttemptTarget | undefined;
}

/** The records that are written with a charge, in the same transaction. */
export interface WrittenWithCharge {
  readonly record: UsageRecord | null;
  readonly response: StoredResponse | null;
  /** Null for an exchange that completed at the first attempt, as nearly all do. */
  readonly outcomeRecord: OutcomeRecord | null;
  /** Every attempt that its provider may bill; absent if there was none. */
  readonly attempts?: readonly AttemptCount[] | undefined;
  /** Absent if the client cannot continue the response. */
  readonly turns?: readonly TurnRecord[] | undefined;
}

/** The outcome of an exchange that is charged, with everything written for it. */
export interface ChargedOutcome extends PricedCharge, WrittenWithCharge {
  /**
   * The part of the cost that is always an overrun, even within the limits, because the client did not cause it. Absent
   * for nothing.
   */
  readonly waived?: number | undefined;
  readonly basis: UsageBasis;
  readonly outcome: Outcome;
  /** The provider of the last attempt. */
  readonly provider: string;
}

/** A charge's stored outcome. Rates and quantities are null if an earlier release journaled what a crash interrupted. */
export type JournaledOutcome = Omit<ChargedOutcome, "rates" | "quantities"> &
  Pick<ChargeEntry, "rates" | "quantities">;

/** The outcome of an exchange that did not simply complete. Contains no secret, prompt or response. */
export interface OutcomeRecord {
  readonly exchangeId: string;
  readonly keyId: string;
  /** When it ended; reports count it at this time. */
  readonly atMs: number;
  readonly startedAtMs: number;
  /** Empty if it ended before this was known, like the next three fields. */
  readonly route: string;
  readonly model: string;
  /** The provider of the last attempt. */
  readonly provider: string;
  readonly upstreamModel: string;
  readonly stream: boolean;
  readonly outcome: RequestOutcome;
  /** The HTTP status sent to the client; null if interrupted. */
  readonly status: number | null;
  readonly code: string | null;
  /** The message sent to the client, truncated to 500 characters. */
  readonly message: string | null;
  readonly firstByteMs: number | null;
  readonly totalMs: number | null;
  readonly attempts: number;
  /** In order. */
  readonly attemptDetails: readonly AttemptRecord[];
  /** Number of further exchanges of the same kind within the same second: counted here, but not stored one by one. */
  readonly alike: number;
  /** The request's labels, as `base/requests/labels.ts` writes them. */
  readonly labels: string | null;
  /** The limit that denied the hold, and the amount requested, in nano-credits or tokens; both null if none did. */
  readonly bound: string | null;
  readonly needed: number | null;
}

/** The client's own id of a request (`x-request-id`), by which an operator can look it up. */
export interface CallerId {
  readonly callerId: string;
  readonly exchangeId: string;
  readonly atMs: number;
}

/** Ids of objects at a provider (responses, files, …) that a response has disclosed to a key. */
export interface IssuedIds {
  readonly keyId: string;
  readonly provider: string;
  /** The id of the provider credential used for the response; null if the provider needs none. */
  readonly credential: string | null;
  /** The keys for finding the ids: the ids themselves, or digests of unusual ones. */
  readonly idKeys: readonly string[];
  /** The input and output of that response: a request that continues from one of the ids begins with this many tokens. */
  readonly tokens: number;
  readonly atMs: number;
}

/** The facts about an id that was issued to a key. */
export type IssuedId = Pick<IssuedIds, "provider" | "credential" | "tokens">;

/** One item of a batch. Plain data, because it may be sent to a writer thread. */
export type JournalItem =
  | { readonly kind: "progress"; readonly progress: HoldProgress }
  /** Drops the hold's row without a charge. */
  | { readonly kind: "release"; readonly holdId: string }
  /** Outcomes of uncharged exchanges; not part of the ledger. */
  | {
      readonly kind: "outcomes";
      readonly outcomes: readonly OutcomeRecord[];
      /** Attempts that were not charged to any account. */
      readonly attempts?: readonly AttemptSums[];
    }
  | { readonly kind: "issued"; readonly issued: IssuedIds }
  | { readonly kind: "callers"; readonly callerIds: readonly CallerId[] }
  | { readonly kind: "part"; readonly part: ResponsePart }
  | { readonly kind: "turn"; readonly turn: TurnRecord }
  | {
      readonly kind: "background";
      readonly begun: BackgroundRecord;
      readonly turn: TurnRecord;
      readonly response: StoredResponse | null;
    }
  /** A provider has begun to respond to it. */
  | { readonly kind: "background_progress"; readonly owned: OwnedBackground }
  | { readonly kind: "background_end"; readonly end: BackgroundEnd }
  /** Brings back what a fast clock moved into the future; runs before the rest of its batch. */
  | { readonly kind: "clock"; readonly atMs: number }
  /** Drops the parts of a response that will not be stored. */
  | { readonly kind: "discard"; readonly recordingId: string }
  | ({
      readonly kind: "settle";
      readonly holdId: string;
      /** Whether its hold may have a row. The common case has none and deletes nothing. */
      readonly hasRow: boolean;
      readonly charge: ChargeEntry;
    } & WrittenWithCharge);

export interface Changes {
  readonly revision: number;
  readonly accounts: readonly AccountRecord[];
  readonly keys: readonly KeyRecord[];
  readonly signIns: readonly SignIn[];
  /** The current limits by value. */
  readonly valueCaps: ValueCapState;
  /** Top-ups and adjustments written since, by any process; each is reported once. */
  readonly entries: readonly Entry[];
}

/** Some keys of an account, and the usage of their caps. */
export interface AccountKeys {
  readonly keys: readonly KeyRecord[];
  readonly caps: readonly CapTotals[];
  /** The start of the next page; null on the last. */
  readonly next: number | null;
}

/** An account with its totals. */
export interface AccountStanding {
  readonly totals: AccountTotals;
  readonly keys: readonly KeyRecord[];
  /** The account has more keys than are listed here. */
  readonly hasMoreKeys: boolean;
  readonly caps: readonly CapTotals[];
}
