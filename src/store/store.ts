import type { AdminRecords } from "./admin-records.ts";
import type { AlertRecords } from "./alert-records.ts";
import type { LedgerFault, ListedEntry, RecomputedTotals } from "./audit-records.ts";
import type { BackgroundRecords } from "./background-records.ts";
import type { BatchRecords } from "./batch-records.ts";
import type { ChainRecords } from "./chain-records.ts";
import type { CountedCharge } from "./counted-charges.ts";
import type { FeedRecords } from "./feed-records.ts";
import type { FileRecords } from "./file-records.ts";
import type { StoreFiles } from "./files.ts";
import type { StoreProblem, StoreStats } from "./health.ts";
import type { NodeRecords } from "./node-records.ts";
import type { ParkedHold, ProviderBatchRecords } from "./provider-batch-records.ts";
import type {
  AccountChanges,
  AccountKeys,
  AccountQuery,
  AccountRecord,
  AccountStanding,
  AccountTotals,
  AttemptSums,
  BudgetPeriod,
  CallerId,
  CapLimit,
  CapOwner,
  CapTotals,
  Changes,
  ChargeEntry,
  Entry,
  HoldProgress,
  IssuedId,
  IssuedIds,
  JournalItem,
  KeyChanges,
  KeyRecord,
  KeyTotals,
  OutcomeRecord,
  ResponsePart,
  SessionCharge,
  StoredResponse,
  Totals,
} from "./records.ts";
import type { Reports } from "./reports.ts";
import type { SignIn } from "./sign-in-records.ts";
import type { Pruning, StorageStats } from "./storage.ts";
import type { ReserveMemory, TurnRecord, TurnRecords } from "./turn-records.ts";
import type { ValueCapRecord, ValueCapStore, ValueTotals } from "./value-cap-records.ts";

export type * from "./admin-records.ts";
export type * from "./alert-records.ts";
export type * from "./audit-records.ts";
export type * from "./batch-records.ts";
export type * from "./chain-records.ts";
export type { CountedCharge } from "./counted-charges.ts";
export type * from "./feed-records.ts";
export type * from "./file-records.ts";
export type * from "./files.ts";
export type { StoreProblem, StoreStats } from "./health.ts";
export type { NodeRecord, NodeRecords, NodeState } from "./node-records.ts";
export type * from "./provider-batch-records.ts";
export type * from "./records.ts";
export { emptyAccount, emptyKey, heldFor } from "./records.ts";
export { dimensionNames, dimensionOf } from "./reporting/dimensions.ts";
export type * from "./reports.ts";
export type * from "./sign-in-records.ts";
export type * from "./storage.ts";
export { StoreError, type StoreErrorReason } from "./store-error.ts";
export type * from "./usage-totals.ts";
export { cachedInputShare, errorRate, sumTotals, totalsWithout } from "./usage-totals.ts";
export type * from "./value-cap-records.ts";

/**
 * Durable state. Every method is one transaction, and all are asynchronous, so that every database can implement the
 * interface. Charges are not included: who decides them depends on the database (see `Accounts` in the ledger).
 * Operators' actions (keys, top-ups) raise the store's revision, and `changesSince` returns the changes. With a shared database
 * they also work from another process while gateways run, which poll the revision.
 */
export interface Store extends ValueCapStore {
  /** Everything the gateway keeps in memory, as of one revision. */
  load(): Promise<Snapshot>;

  /** An opening top-up is part of the same transaction; 0 writes none. */
  insertAccount(account: AccountRecord, openingTopUpNano: number): Promise<void>;
  updateAccount(accountId: string, changes: AccountChanges): Promise<AccountRecord>;
  /** Looks up an account by id. */
  findAccount(accountId: string): Promise<AccountRecord | null>;
  /** Whether something counts more than an hour ahead. */
  isAhead(nowMs: number): Promise<boolean>;
  /**
   * Brings accounts, caps and keys back to the present that count more than an hour ahead, because a clock was wrong.
   * Null if there are none.
   */
  returnToPresent(nowMs: number): Promise<ClockReturn | null>;
  /** The earlier periods of budgets whose period was changed. */
  listPastPeriods(): Promise<readonly PastPeriod[]>;
  /** Lists accounts that keys can share, or all accounts. */
  listAccounts(query: AccountQuery): Promise<readonly AccountRecord[]>;
  /** Returns two at most: an ambiguous label identifies no account. */
  accountsLabelled(label: string): Promise<readonly AccountRecord[]>;
  /**
   * The totals of these accounts, their keys, and the usage of the caps of both. Keys are omitted for accounts with
   * more than `maxKeys`.
   */
  readAccounts(accountIds: readonly string[], maxKeys?: number): Promise<readonly AccountStanding[]>;
  /** A page of an account's keys, after the `next` of the previous page; 0 for the first. */
  accountKeys(accountId: string, after: number, limit: number): Promise<AccountKeys>;

  /**
   * Bills the key to its account, which is created if it does not exist. An opening top-up is part of the same
   * transaction; 0 writes none. Fails with `changed` if anything was changed since `sinceRevision`.
   */
  insertKey(key: KeyRecord, openingTopUpNano: number, sinceRevision?: number): Promise<void>;
  /** Bills the key to another account from now on. Its entries and running requests stay with the old one. */
  moveKey(keyId: string, accountId: string, nowMs: number): Promise<KeyRecord>;
  /**
   * Replaces all caps of the key or account. A cap with the same period and models keeps its usage; a new one counts
   * what its current period used before.
   */
  setCaps(owner: CapOwner, caps: readonly CapLimit[], nowMs: number): Promise<void>;
  /** Raises a cap for its current period. */
  extendCap(owner: CapOwner, capNo: number, amount: number, nowMs: number): Promise<void>;
  updateKey(keyId: string, changes: KeyChanges): Promise<KeyRecord>;
  /** Looks up a key by its id, its prefix, or its account's id, if exactly one key matches. */
  findKey(idOrPrefix: string): Promise<KeyRecord | null>;
  listKeys(query: KeyQuery): Promise<KeyPage>;
  /** At most `limit` keys that have this label, or whose id or prefix begins with the text, unless it is too short. */
  keysNamed(name: string, limit: number): Promise<readonly KeyRecord[]>;

  recordTopUp(topUp: OperatorEntry): Promise<RecordedEntry>;
  /** A correction in either direction. Fails if it would take the balance below 0. */
  recordAdjustment(adjustment: OperatorEntry): Promise<RecordedEntry>;

  currentRevision(): Promise<number>;
  changesSince(revision: number): Promise<Changes>;

  /** The key's latest charge of a session that the client named, among its last thousand, unless it is older than `sinceMs`. */
  lastRequestOfSession(keyId: string, session: string, sinceMs: number): Promise<SessionCharge | null>;

  /** Ignores responses stored before `notBeforeMs`, which may not be pruned yet. */
  findStoredResponse(
    scope: ResponseScope,
    notBeforeMs: number,
    reserve?: ReserveMemory,
  ): Promise<StoredResponse | null>;
  /** Bytes of responses stored for retries of this key's requests, including expired ones not yet deleted. */
  retryBytes(keyId: string): Promise<number>;
  /** Deletes at most `limit` responses stored before `beforeMs`, fewer if they are long. Returns how many. */
  pruneStoredResponses(beforeMs: number, limit: number): Promise<number>;
  /** Await it before the charge or the turn that the part belongs to: parts have their own queue. */
  recordResponsePart(part: ResponsePart): Promise<void>;
  /** Writes a turn without a charge. Turns of charged responses are written with their charges. */
  recordTurn(turn: TurnRecord): Promise<void>;
  /** Drops the parts of a response that will not be stored. */
  discardResponse(recordingId: string): Promise<void>;

  /** Durable no later than a charge that the same process makes afterwards. */
  recordIssuedIds(issued: IssuedIds): Promise<void>;
  /** Each of these ids in the same order; null if it was not issued to the key. */
  findIssuedIds(keyId: string, idKeys: readonly string[]): Promise<readonly (IssuedId | null)[]>;
  /** Examines the oldest and deletes those that are too old or too many. Returns how many. */
  pruneIssuedIds(pruning: OldestPruning): Promise<number>;

  /**
   * Resolves once the issued ids handed over so far are durable, or cannot be made so; null if a charge
   * that is made now is not durable before them anyway.
   */
  written(): Promise<void> | null;

  /** Writes outcomes of uncharged requests, and uncharged attempts; not part of the ledger. */
  recordOutcomes(outcomes: readonly OutcomeRecord[], attempts?: readonly AttemptSums[]): Promise<void>;
  /** Deletes the oldest request-log rows that are too old or too many. Totals of them stay. */
  pruneRequestLog(pruning: OldestPruning): Promise<number>;

  /** Writes clients' own request ids; not part of the ledger. */
  recordCallerIds(callerIds: readonly CallerId[]): Promise<void>;
  /** Examines the oldest and deletes those that are too old or too many. Returns how many. */
  pruneCallerIds(pruning: OldestPruning): Promise<number>;

  /** Records what retention deleted last, for operators. */
  recordPruning(pruning: Pruning): Promise<void>;
  storage(): Promise<StorageStats>;

  readTotals(keyId: string): Promise<Totals | null>;
  /** Oldest first, after the given id: the cursor of an export or an audit. */
  listEntries(query: EntryQuery): Promise<readonly ListedEntry[]>;
  readonly chain: ChainRecords;
  /** Report totals that differ from the entries, and other inconsistencies of this database. */
  auditSums(): Promise<readonly LedgerFault[]>;
  /** The totals of every account, key and cap, as stored and as recomputed from the entries, in one consistent read. */
  recomputeTotals(): Promise<readonly RecomputedTotals[]>;

  /** Queries for the dashboard and the admin API. */
  readonly reports: Reports;
  readonly turns: TurnRecords;
  readonly background: BackgroundRecords;
  /** Files of clients. */
  readonly uploads: FileRecords;
  readonly batches: BatchRecords;
  readonly providerBatches: ProviderBatchRecords;
  /** The admin API's own records. */
  readonly admin: AdminRecords;
  readonly alerts: AlertRecords;
  readonly feed: FeedRecords;

  /** Null unless the store is made of files. */
  readonly files: StoreFiles | null;

  /** Null for a store with one gateway at a time. */
  readonly nodes: NodeRecords | null;

  /** Writes everything still queued, then closes. */
  close(): Promise<void>;
}

/**
 * A store used by one gateway at a time, which decides charges in memory and commits its decisions. A shared database
 * decides charges itself and has no journal.
 */
export interface JournaledStore extends Store {
  /**
   * False while charges cannot be written reliably (disk full, database locked or gone): then no new requests are
   * accepted.
   */
  readonly healthy: boolean;
  /** Why it is not healthy; null while it is. */
  readonly problem: StoreProblem | null;
  /** Charges passed to `commit` that are not durable: waiting or rejected. */
  readonly unwritten: readonly ChargeEntry[];
  readonly stats: Readonly<StoreStats>;
  /**
   * Resolves once the items are durable. The items of one call are written in one transaction. If no other commit is
   * expected (`othersFollow` is false), they are written at once.
   */
  commit(items: readonly JournalItem[], othersFollow?: boolean): Promise<void>;
  /**
   * Every charge passed to `commit` is either included in the caps' usage or in `pending`. Synchronous: nothing may
   * happen in between.
   */
  countCaps(capNos: readonly number[]): Counted<CapTotals>;
  /** Counts caps by value, as `countCaps` does. */
  countValueCaps(capNos: readonly number[]): Counted<ValueTotals>;
  /** The totals of all accounts, keys and caps, and the charges in `pending` that they do not include. */
  countAll(): CountedTotals;
}

export interface CountedTotals
  extends Pick<Snapshot, "accountTotals" | "keyTotals" | "capTotals" | "valueTotals"> {
  readonly pending: readonly CountedCharge[];
}

export interface Counted<Totals> {
  readonly totals: readonly Totals[];
  readonly pending: readonly CountedCharge[];
}

export interface Snapshot {
  readonly revision: number;
  readonly accounts: readonly AccountRecord[];
  readonly keys: readonly KeyRecord[];
  readonly signIns: readonly SignIn[];
  readonly accountTotals: readonly AccountTotals[];
  readonly keyTotals: readonly KeyTotals[];
  readonly capTotals: readonly CapTotals[];
  readonly valueCaps: readonly ValueCapRecord[];
  readonly valueTotals: readonly ValueTotals[];
  readonly openHolds: readonly HoldProgress[];
  readonly parkedHolds: readonly ParkedHold[];
  /** An account whose totals contradict each other; null if there is none. */
  readonly unbalancedId: string | null;
}

export interface KeyQuery {
  /** Matches part of the label or owner, or the beginning of the id or prefix. */
  readonly search?: string | undefined;
  readonly limit: number;
  /** As returned with the previous page. */
  readonly cursor?: string | undefined;
}

export interface KeyPage {
  readonly keys: readonly KeyRecord[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface OperatorEntry {
  /** Exactly one is set: a key whose account it is for, or the account. */
  readonly keyId: string | null;
  readonly accountId?: string | undefined;
  /** Nano-credits: above 0 for a top-up, not 0 for an adjustment. */
  readonly amountNano: number;
  /** Nano-credits reserved by open requests, which cannot be taken away. Only a running gateway knows it. */
  readonly heldNano?: number;
  /** Makes it idempotent: repeating a reference for the same key returns the first entry. */
  readonly reference: string | null;
  readonly note: string | null;
  readonly atMs: number;
}

export interface RecordedEntry {
  readonly entry: Entry;
  /** True if the reference was known and nothing was written. */
  readonly repeated: boolean;
}

export interface ResponseScope {
  readonly keyId: string;
  readonly route: string;
  readonly idempotencyKey: string;
}

export interface OldestPruning {
  readonly beforeMs: number;
  /** Number of the newest rows to keep. */
  readonly keep: number;
  /** Number of rows to examine. */
  readonly limit: number;
}

export interface EntryQuery {
  readonly afterId: number;
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** The time range; `untilMs` is exclusive. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** The rows that were returned to the present. */
export interface ClockReturn {
  readonly accounts: number;
  readonly keys: number;
  /** The latest time that an account counted at before. */
  readonly fromMs: number;
}

export interface PastPeriod {
  readonly accountId: string;
  readonly period: BudgetPeriod;
}
