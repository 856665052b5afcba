import type { AdminRecords } from "./admin-records.ts";
import type { AlertRecords } from "./alert-records.ts";
import type { StoreFiles } from "./files.ts";
import type { StoreStats, Trouble } from "./health.ts";
import type { NodeRecords } from "./node-records.ts";
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
  ExchangeEnding,
  GivenId,
  GivenIds,
  HoldProgress,
  JournalItem,
  KeyChanges,
  KeyRecord,
  KeyTotals,
  ResponsePart,
  StoredResponse,
  Totals,
} from "./records.ts";
import type { Reports } from "./reports.ts";
import type { Pruning, StorageFigures } from "./storage.ts";
import type { ReserveMemory, TurnRecord, TurnRecords } from "./turn-records.ts";

export type * from "./admin-records.ts";
export type * from "./alert-records.ts";
export type * from "./figures.ts";
export { cachedInputShare, errorRate, sumFigures } from "./figures.ts";
export type * from "./files.ts";
export type { StoreStats, Trouble } from "./health.ts";
export type { NodeRecord, NodeRecords } from "./node-records.ts";
export type * from "./records.ts";
export { emptyAccount, emptyKey } from "./records.ts";
export { type RefusalReason, StoreRefusal } from "./refusal.ts";
export { dimensionNames, dimensionOf } from "./reporting/dimensions.ts";
export type * from "./reports.ts";
export type * from "./storage.ts";

/**
 * Durable state. Every method is one whole transaction, and all are asynchronous, so that every database can
 * implement the same interface. Charges are not among them: who decides about them depends on the database (see
 * `Accounts` in the ledger). Each operator's action (keys, top-ups) is a method that also works from another process
 * while gateways run: it raises the store's revision, which they poll, and they read the changes with `changesSince`.
 */
export interface Store {
  /** Everything the gateway keeps in memory, as of one revision. */
  load(): Promise<Snapshot>;

  /** An opening top-up is part of the same transaction; 0 writes none. */
  insertAccount(account: AccountRecord, openingTopUpNano: number): Promise<void>;
  updateAccount(accountId: string, changes: AccountChanges): Promise<AccountRecord>;
  /** By its id. */
  findAccount(accountId: string): Promise<AccountRecord | null>;
  /**
   * Brings accounts, caps and keys back that have counted at a moment more than an hour ahead, because a clock was wrong; null if there
   * are none.
   */
  returnToPresent(nowMs: number): Promise<ClockReturn | null>;
  /** The periods that budgets had before they were changed. */
  listPastPeriods(): Promise<readonly PastPeriod[]>;
  /** Those that more than one key may draw on, or all. */
  listAccounts(query: AccountQuery): Promise<readonly AccountRecord[]>;
  /** Two at most: a label that fits several names none. */
  accountsLabelled(label: string): Promise<readonly AccountRecord[]>;
  /**
   * The sums of these accounts, their keys, and what the caps of both have counted. The keys of an account with more than `mostKeys`
   * are left out.
   */
  readAccounts(accountIds: readonly string[], mostKeys?: number): Promise<readonly AccountStanding[]>;
  /** So many keys of an account, after the number that the page before gave as `next`; 0 for the first. */
  accountKeys(accountId: string, after: number, limit: number): Promise<AccountKeys>;

  /**
   * Draws on the account that it names; if there is none, that is made with it. An opening top-up is part of the same
   * transaction; 0 writes none. Refused as `changed` if anything has been changed since the revision, where one is given.
   */
  insertKey(key: KeyRecord, openingTopUpNano: number, sinceRevision?: number): Promise<void>;
  /** From now on it draws on the other account. Its entries, and what is in flight, stay where they are. */
  moveKey(keyId: string, accountId: string, nowMs: number): Promise<KeyRecord>;
  /**
   * Takes the place of all caps that the key or the account has. One of the same period and models keeps what it has
   * counted; a new one counts what was taken in its running period before.
   */
  setCaps(owner: CapOwner, caps: readonly CapLimit[], nowMs: number): Promise<void>;
  /** Raises a cap of this owner for the period that is running. */
  extendCap(owner: CapOwner, capNo: number, amount: number, nowMs: number): Promise<void>;
  updateKey(keyId: string, changes: KeyChanges): Promise<KeyRecord>;
  /** By its id, its prefix, or its account's id: where that is the only one that fits. */
  findKey(idOrPrefix: string): Promise<KeyRecord | null>;
  listKeys(query: KeyQuery): Promise<KeyPage>;
  /** So many at most that have this label, or whose id or prefix begins with the text, if that is not too short to tell keys apart. */
  keysNamed(name: string, most: number): Promise<readonly KeyRecord[]>;

  recordTopUp(topUp: OperatorEntry): Promise<RecordedEntry>;
  /** A correction, in either direction; refused when it would take the balance below 0. */
  recordAdjustment(adjustment: OperatorEntry): Promise<RecordedEntry>;

  currentRevision(): Promise<number>;
  changesSince(revision: number): Promise<Changes>;

  /** Ignores responses stored before `notBeforeMs`, which may not be pruned yet. */
  findStoredResponse(
    scope: ResponseScope,
    notBeforeMs: number,
    reserve?: ReserveMemory,
  ): Promise<StoredResponse | null>;
  /** How many bytes of responses are kept for retries of this key's requests, those that expired and are not yet deleted included. */
  retryBytes(keyId: string): Promise<number>;
  /** Deletes at most `limit` responses stored before `beforeMs`; fewer if they are long. Returns how many. */
  pruneStoredResponses(beforeMs: number, limit: number): Promise<number>;
  /** Await it before the charge, or the turn, that the part belongs to: it has a queue of its own. */
  recordResponsePart(part: ResponsePart): Promise<void>;
  /** A turn that nothing is charged for; those of charged answers are written with their charges. */
  recordTurn(turn: TurnRecord): Promise<void>;
  /** Drops the parts of a response that will not be stored after all. */
  discardResponse(recordingId: string): Promise<void>;

  /** Durable no later than a charge that the same process makes afterwards. */
  recordGivenIds(given: GivenIds): Promise<void>;
  /** Each of these ids in the given order; null if the key was not given it. */
  findGivenIds(keyId: string, idKeys: readonly string[]): Promise<readonly (GivenId | null)[]>;
  /** Examines the oldest and deletes those that are too old or too many. Returns how many. */
  pruneGivenIds(pruning: OldestPruning): Promise<number>;

  /**
   * Resolves once the given ids handed over so far are durable, or cannot be made so; null if a charge
   * that is made now is not durable before them anyway.
   */
  written(): Promise<void> | null;

  /** Endings of exchanges that cost nothing, and attempts that nobody was charged for; not part of the ledger. */
  recordEndings(endings: readonly ExchangeEnding[], attempts?: readonly AttemptSums[]): Promise<void>;
  /** The same for endings, but those that are not in the sums yet stay. */
  pruneEndings(pruning: OldestPruning): Promise<number>;

  /** Not part of the ledger either. */
  recordCallerIds(callerIds: readonly CallerId[]): Promise<void>;
  /** Examines the oldest and deletes those that are too old or too many. Returns how many. */
  pruneCallerIds(pruning: OldestPruning): Promise<number>;

  /** For operators: what retention has deleted takes the place of what it deleted before. */
  recordPruning(pruning: Pruning): Promise<void>;
  storage(): Promise<StorageFigures>;

  readTotals(keyId: string): Promise<Totals | null>;
  /** Oldest first, after the given id: the cursor of an export or an audit. */
  listEntries(query: EntryQuery): Promise<readonly AuditedEntry[]>;
  /** Sums for reports that are not those of the entries, and whatever else does not fit in this database. */
  auditSums(nowMs: number): Promise<readonly LedgerFault[]>;
  /** For every account, key and cap, its totals as kept and as recomputed from the entries, in one consistent read. */
  recomputeTotals(): Promise<readonly RecomputedTotals[]>;

  /** Queries of the dashboard and the admin API. */
  readonly reports: Reports;
  readonly turns: TurnRecords;
  /** The admin API's own records. */
  readonly admin: AdminRecords;
  readonly alerts: AlertRecords;

  /** Null for a store that is not made of files. */
  readonly files: StoreFiles | null;

  /** Null for a store that has one gateway at a time. */
  readonly nodes: NodeRecords | null;

  /** Writes everything still queued, then closes. */
  close(): Promise<void>;
}

/**
 * A store with one gateway at a time, which decides about charges in its memory and commits what it has decided. In a
 * database that several gateways share, the database decides, and there is no such journal.
 */
export interface JournaledStore extends Store {
  /** False while charges cannot be written for certain (disk full, database locked or gone): no new work may begin. */
  readonly healthy: boolean;
  /** Why it is not healthy; null while it is. */
  readonly trouble: Trouble | null;
  /** Charges passed to `commit` that are not durable: still waiting, or rejected. */
  readonly unwritten: readonly ChargeEntry[];
  readonly stats: Readonly<StoreStats>;
  /**
   * Resolves once the items are durable. The items of one call are written in one transaction. If nobody else is about
   * to commit (`othersFollow` is false), they are written at once.
   */
  commit(items: readonly JournalItem[], othersFollow?: boolean): Promise<void>;
  /** Every charge passed to `commit` is either in what the caps have used, or in `pending`. Must not be awaited for. */
  countCaps(capNos: readonly number[]): CountedCaps;
  /** The same of all accounts, keys and caps. */
  countAll(): CountedTotals;
}

export interface CountedTotals extends Pick<Snapshot, "accountTotals" | "keyTotals" | "capTotals"> {
  readonly pending: readonly ChargeEntry[];
}

export interface CountedCaps {
  readonly totals: readonly CapTotals[];
  readonly pending: readonly ChargeEntry[];
}

export interface Snapshot {
  readonly revision: number;
  readonly accounts: readonly AccountRecord[];
  readonly keys: readonly KeyRecord[];
  readonly accountTotals: readonly AccountTotals[];
  readonly keyTotals: readonly KeyTotals[];
  readonly capTotals: readonly CapTotals[];
  readonly openHolds: readonly HoldProgress[];
  /** An account whose totals contradict each other, if there is one. */
  readonly unbalancedId: string | null;
}

export interface KeyQuery {
  /** Matches a part of the label or the owner, or the beginning of the id or prefix. */
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
  /** One of both: the key whose account it is for, or the account itself. */
  readonly keyId: string | null;
  readonly accountId?: string | undefined;
  /** Nano-credits: above 0 for a top-up, not 0 for an adjustment. */
  readonly amountNano: number;
  /** What open requests hold of the balance, so that it cannot be taken away. Only a running gateway knows it. */
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
  /** How many of the newest to keep. */
  readonly keep: number;
  /** How many to examine. */
  readonly limit: number;
}

export interface EntryQuery {
  readonly afterId: number;
  readonly limit: number;
  readonly keyId?: string | undefined;
  /** Only what was written in this time, its end not included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** Sums by their names. Exact whatever their size: what was bought and used in a lifetime may exceed a double. */
export type ExactTotals = Readonly<Record<string, bigint>>;

/** An entry with its usage record, as far as the two must agree. Null where there is no such record. */
export interface AuditedEntry extends Entry {
  readonly ratesId: number | null;
  readonly costNano: number | null;
  readonly startedAtMs: number | null;
  readonly totalMs: number | null;
}

/** Something that is kept, and is not what it follows from. */
export interface ClockReturn {
  readonly accounts: number;
  readonly keys: number;
  /** The latest moment that an account had counted at. */
  readonly fromMs: number;
}

export interface PastPeriod {
  readonly accountId: string;
  readonly period: BudgetPeriod;
}

export interface LedgerFault {
  readonly keyId: string | null;
  /** `entry 12`, `hour 2026-11-15T12:00 gpt-5.6 at openai`, `hold req_…`. */
  readonly where: string;
  readonly field: string;
  readonly kept: bigint | number | string;
  readonly recomputed: bigint | number | string;
}

export interface RecomputedTotals {
  /** Null for an account that has not one key. */
  readonly keyId: string | null;
  /** What has these totals: `account`, `key` or `cap 12`. */
  readonly where: string;
  readonly kept: ExactTotals;
  readonly recomputed: ExactTotals;
}
