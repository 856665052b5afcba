import type { Database } from "bun:sqlite";
import type { StoreStats, Trouble } from "../health.ts";
import type { Journal } from "../journal/journal.ts";
import { openingBalance, openingCredit } from "../operator-entry.ts";
import { QueriedStore } from "../queried-store.ts";
import type { Query } from "../query.ts";
import type {
  AccountChanges,
  AccountRecord,
  AttemptSums,
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
import type {
  AccountStanding,
  AuditedEntry,
  CapOwner,
  CountedCaps,
  EndingsPruning,
  EntryQuery,
  JournaledStore,
  LedgerFault,
  OperatorEntry,
  RecomputedTotals,
  RecordedEntry,
  ResponseScope,
  Snapshot,
} from "../store.ts";
import { listAuditedEntries, listEntries } from "../tables/entry-list.ts";
import { patiently } from "./connection.ts";
import { type FilesParts, SqliteFiles } from "./files/store-files.ts";
import { sqliteQueries } from "./queries.ts";
import { AccountTable } from "./tables/account-table.ts";
import { SqliteAlertRecords } from "./tables/alert-records.ts";
import { CapTable } from "./tables/cap-table.ts";
import { EntryTable } from "./tables/entry-table.ts";
import { entryFinder } from "./tables/exchange-entries.ts";
import { KeyTable } from "./tables/key-table.ts";
import { OperatorEntries } from "./tables/operator-entries.ts";
import { ResponseTable } from "./tables/response-table.ts";
import { Revision } from "./tables/revision.ts";

export interface StoreParts extends FilesParts {
  /** Null for operators: only the gateway charges. */
  readonly journal: Journal | null;
  readonly stats: StoreStats;
  /** Runs last, after everything is closed. */
  readonly onClose: () => void;
}

export class SqliteStore extends QueriedStore implements JournaledStore {
  readonly stats: StoreStats;
  readonly nodes = null;
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
  readonly #one: Query;

  constructor(parts: StoreParts) {
    const { database, timeoutMs } = parts;
    const queries = sqliteQueries(database, timeoutMs);
    super(queries, entryFinder(queries), null);
    this.#parts = parts;
    this.stats = parts.stats;
    this.#one = queries.read;
    this.#database = database;
    this.#revision = new Revision(database);
    this.#caps = new CapTable(database);
    this.#accounts = new AccountTable(database, this.#revision, this.#caps);
    this.#keys = new KeyTable(database, this.#revision, this.#accounts, this.#caps);
    this.#entries = new EntryTable(database);
    this.#operator = new OperatorEntries(database, this.#keys, this.#accounts, this.#entries, this.#revision);
    this.#responses = new ResponseTable(database);
    this.alerts = new SqliteAlertRecords(queries, database, timeoutMs);
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

  /** The journal keeps the order. */
  written(): null {
    return null;
  }

  recordCallerIds(callerIds: readonly CallerId[]): Promise<void> {
    return this.commit([{ kind: "callers", callerIds }]);
  }

  recordEndings(endings: readonly ExchangeEnding[], attempts: readonly AttemptSums[] = []): Promise<void> {
    return this.commit([{ kind: "endings", endings, attempts }]);
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
    return listEntries(this.#one, query);
  }

  listAuditedEntries(query: Pick<EntryQuery, "afterId" | "limit">): Promise<readonly AuditedEntry[]> {
    return listAuditedEntries(this.#one, query);
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
