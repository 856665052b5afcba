import type { Database } from "bun:sqlite";
import type { StoreStats, Trouble } from "../health.ts";
import type { Journal } from "../journal/journal.ts";
import { openingBalance, openingCredit } from "../operator-entry.ts";
import type {
  AccountChanges,
  AccountRecord,
  CallerId,
  CapLimit,
  Changes,
  ChargeEntry,
  Entry,
  ExchangeEnding,
  GivenIds,
  JournalItem,
  KeyChanges,
  KeyRecord,
  ResponsePart,
  Totals,
} from "../records.ts";
import { summarizeUsage } from "../reporting/usage-summary.ts";
import type {
  AccountQuery,
  AccountStanding,
  AuditedEntry,
  CapOwner,
  CountedCaps,
  EndingsPruning,
  EntryQuery,
  GroupFigures,
  JournaledStore,
  KeyPage,
  KeyQuery,
  LedgerFault,
  NumberedUsage,
  OldestPruning,
  OperatorEntry,
  RecomputedTotals,
  RecordedEntry,
  ResponseScope,
  Snapshot,
  UsageQuery,
  UsageSummaryQuery,
} from "../store.ts";
import { patiently } from "./connection.ts";
import { type FilesParts, SqliteFiles } from "./files/store-files.ts";
import { SqliteReports } from "./reports/reports.ts";
import { AccountTable } from "./tables/account-table.ts";
import { SqliteAdminRecords } from "./tables/admin-records.ts";
import { SqliteAlertRecords } from "./tables/alert-records.ts";
import { CallerIdTable } from "./tables/caller-id-table.ts";
import { CapTable } from "./tables/cap-table.ts";
import { EntryTable } from "./tables/entry-table.ts";
import { GivenIdTable } from "./tables/given-id-table.ts";
import { KeyTable } from "./tables/key-table.ts";
import { OperatorEntries } from "./tables/operator-entries.ts";
import { ResponseTable } from "./tables/response-table.ts";
import { Revision } from "./tables/revision.ts";
import { UsageTable } from "./tables/usage-table.ts";

export interface StoreParts extends FilesParts {
  /** Null for operators: only the gateway charges. */
  readonly journal: Journal | null;
  readonly stats: StoreStats;
  /** Runs last, after everything is closed. */
  readonly onClose: () => void;
}

export class SqliteStore implements JournaledStore {
  readonly stats: StoreStats;
  readonly nodes = null;
  readonly reports: SqliteReports;
  readonly admin: SqliteAdminRecords;
  readonly alerts: SqliteAlertRecords;
  readonly files: SqliteFiles;
  readonly #parts: StoreParts;
  readonly #database: Database;
  readonly #revision: Revision;
  readonly #caps: CapTable;
  readonly #accounts: AccountTable;
  readonly #keys: KeyTable;
  readonly #entries: EntryTable;
  readonly #operator: OperatorEntries;
  readonly #responses: ResponseTable;
  readonly #givenIds: GivenIdTable;
  readonly #callerIds: CallerIdTable;
  readonly #usage: UsageTable;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.stats = parts.stats;
    const database = parts.database;
    this.#database = database;
    this.#revision = new Revision(database);
    this.#caps = new CapTable(database);
    this.#accounts = new AccountTable(database, this.#revision, this.#caps);
    this.#keys = new KeyTable(database, this.#revision, this.#accounts, this.#caps);
    this.#entries = new EntryTable(database);
    this.#operator = new OperatorEntries(database, this.#keys, this.#accounts, this.#entries, this.#revision);
    this.#responses = new ResponseTable(database);
    this.#givenIds = new GivenIdTable(database);
    this.#callerIds = new CallerIdTable(database);
    this.#usage = new UsageTable(database);
    this.reports = new SqliteReports(database, parts.timeoutMs);
    this.admin = new SqliteAdminRecords(database, parts.timeoutMs);
    this.alerts = new SqliteAlertRecords(database, parts.timeoutMs);
    this.files = new SqliteFiles(parts);
  }

  get healthy(): boolean {
    const { journal, watched } = this.#parts;
    return journal === null || (journal.healthy && watched?.trouble == null);
  }

  get trouble(): Trouble | null {
    return this.#parts.watched?.trouble ?? this.#parts.journal?.trouble ?? null;
  }

  get unwritten(): readonly ChargeEntry[] {
    return this.#parts.journal?.unwritten ?? [];
  }

  load(): Promise<Snapshot> {
    return this.#read(() => ({
      revision: this.#revision.read(),
      accounts: this.#accounts.all(),
      keys: this.#keys.all(),
      accountTotals: this.#entries.allAccountTotals(),
      keyTotals: this.#entries.allKeyTotals(),
      capTotals: this.#caps.allTotals(),
      openHolds: this.#entries.openHolds(),
      unbalancedId: this.#entries.unbalancedId(),
    }));
  }

  insertAccount(account: AccountRecord, openingTopUpNano: number): Promise<void> {
    return this.#change(() => {
      this.#accounts.insertShared(account);
      if (openingTopUpNano !== 0) this.#operator.record("topup", openingBalance(account, openingTopUpNano));
    });
  }

  updateAccount(accountId: string, changes: AccountChanges): Promise<AccountRecord> {
    return this.#change(() => this.#accounts.update(accountId, changes));
  }

  findAccount(accountId: string): Promise<AccountRecord | null> {
    return this.#read(() => this.#accounts.byId(accountId)?.account ?? null);
  }

  listAccounts(query: AccountQuery): Promise<readonly AccountRecord[]> {
    return this.#read(() => this.#accounts.list(query));
  }

  readAccounts(accountIds: readonly string[]): Promise<readonly AccountStanding[]> {
    return this.#read(() =>
      accountIds.map((id) => {
        const { no } = this.#accounts.require(id);
        const caps = this.#caps.totalsOfAccount(no);
        return { totals: this.#entries.totals(no), held: null, keys: this.#keys.ofAccount(no), caps };
      }),
    );
  }

  moveKey(keyId: string, accountId: string): Promise<KeyRecord> {
    return this.#change(() => this.#keys.move(keyId, accountId));
  }

  setCaps(owner: CapOwner, caps: readonly CapLimit[], nowMs: number): Promise<void> {
    return this.#change(() => {
      if ("keyId" in owner) this.#keys.setCaps(owner.keyId, caps, nowMs);
      else this.#accounts.setCaps(owner.accountId, caps, nowMs);
    });
  }

  extendCap(owner: CapOwner, capNo: number, amount: number, nowMs: number): Promise<void> {
    return this.#change(() => {
      if ("keyId" in owner) this.#keys.extendCap(owner.keyId, capNo, amount, nowMs);
      else this.#accounts.extendCap(owner.accountId, capNo, amount, nowMs);
    });
  }

  /** What the writer's thread has committed and not yet acknowledged is in the database already. */
  countCaps(capNos: readonly number[]): CountedCaps {
    const count = this.#database.transaction(() => ({
      totals: this.#caps.totals(capNos),
      pending: this.unwritten.filter(({ exchangeId }) => !this.#entries.hasRecentCharge(exchangeId)),
    }));
    return count.deferred();
  }

  insertKey(key: KeyRecord, openingTopUpNano: number): Promise<void> {
    return this.#change(() => {
      this.#keys.insert(key);
      if (openingTopUpNano !== 0) this.#operator.record("topup", openingCredit(key, openingTopUpNano));
    });
  }

  updateKey(keyId: string, changes: KeyChanges): Promise<KeyRecord> {
    return this.#change(() => this.#keys.update(keyId, changes));
  }

  findKeyByHash(hash: string, nowMs: number): Promise<KeyRecord | null> {
    return this.#read(() => this.#keys.byHash(hash, nowMs));
  }

  findKey(idOrPrefix: string): Promise<KeyRecord | null> {
    return this.#read(() => this.#keys.byIdOrPrefix(idOrPrefix));
  }

  listKeys(query: KeyQuery): Promise<KeyPage> {
    return this.#read(() => this.#keys.list(query));
  }

  recordTopUp(topUp: OperatorEntry): Promise<RecordedEntry> {
    return this.#change(() => this.#operator.record("topup", topUp));
  }

  recordAdjustment(adjustment: OperatorEntry): Promise<RecordedEntry> {
    return this.#change(() => this.#operator.record("adjustment", adjustment));
  }

  commit(items: readonly JournalItem[], othersFollow = true): Promise<void> {
    const { journal } = this.#parts;
    return journal === null
      ? Promise.reject(new Error("Only the gateway writes to the journal."))
      : journal.commit(items, othersFollow);
  }

  currentRevision(): Promise<number> {
    return patiently(this.#parts.timeoutMs, () => this.#revision.read());
  }

  changesSince(revision: number): Promise<Changes> {
    return this.#read(() => ({
      revision: this.#revision.read(),
      accounts: this.#accounts.changedSince(revision),
      keys: this.#keys.changedSince(revision),
      entries: this.#entries.changedSince(revision),
    }));
  }

  findStoredResponse(scope: ResponseScope, notBeforeMs: number) {
    return this.#read(() => this.#responses.find(scope, notBeforeMs));
  }

  pruneStoredResponses(beforeMs: number, limit: number): Promise<number> {
    return this.#change(() => this.#responses.prune(beforeMs, limit));
  }

  recordResponsePart(part: ResponsePart): Promise<void> {
    return this.commit([{ kind: "part", part }]);
  }

  discardResponse(recordingId: string): Promise<void> {
    return this.commit([{ kind: "discard", recordingId }]);
  }

  recordGivenIds(given: GivenIds): Promise<void> {
    return this.commit([{ kind: "given", given }]);
  }

  findGivenIds(keyId: string, digests: readonly string[]) {
    return this.#read(() => this.#givenIds.find(keyId, digests));
  }

  pruneGivenIds(pruning: OldestPruning): Promise<number> {
    return this.#change(() => this.#givenIds.prune(pruning));
  }

  /** The journal keeps the order. */
  written(): null {
    return null;
  }

  recordCallerIds(callerIds: readonly CallerId[]): Promise<void> {
    return this.commit([{ kind: "callers", callerIds }]);
  }

  pruneCallerIds(pruning: OldestPruning): Promise<number> {
    return this.#change(() => this.#callerIds.prune(pruning));
  }

  recordEndings(endings: readonly ExchangeEnding[]): Promise<void> {
    return this.commit([{ kind: "endings", endings }]);
  }

  pruneEndings(pruning: EndingsPruning): Promise<void> {
    return this.commit([{ kind: "prune", ...pruning }]);
  }

  readTotals(keyId: string): Promise<Totals | null> {
    return this.#read(() => {
      const found = this.#keys.byId(keyId);
      if (found === null) return null;
      return { ...this.#entries.totals(found.accountNo), ...this.#entries.keyTotals(found.no) };
    });
  }

  listEntries(query: EntryQuery): Promise<readonly Entry[]> {
    return this.#read(() => this.#entries.list(query));
  }

  listUsage(query: UsageQuery): Promise<readonly NumberedUsage[]> {
    return this.#read(() => this.#usage.list(query));
  }

  summarizeUsage(query: UsageSummaryQuery): Promise<readonly GroupFigures[]> {
    return summarizeUsage(this.reports, query);
  }

  listAuditedEntries(query: Pick<EntryQuery, "afterId" | "limit">): Promise<readonly AuditedEntry[]> {
    return this.#read(() => this.#entries.listAudited(query));
  }

  auditSums(nowMs: number): Promise<readonly LedgerFault[]> {
    return this.#read(() => this.#entries.auditSums(nowMs));
  }

  recomputeTotals(): Promise<readonly RecomputedTotals[]> {
    return this.#read(() => this.#entries.recompute());
  }

  async close(): Promise<void> {
    try {
      await this.#parts.journal?.close();
      this.files.rescue();
    } finally {
      this.#parts.watched?.close();
      this.#database.close();
      this.#parts.onClose();
    }
  }

  /** One transaction, so that several reads see the same state. */
  #read<Result>(work: () => Result): Promise<Result> {
    return patiently(this.#parts.timeoutMs, this.#database.transaction(work).deferred);
  }

  #change<Result>(work: () => Result): Promise<Result> {
    return patiently(this.#parts.timeoutMs, this.#database.transaction(work).immediate);
  }
}
