import type { Database } from "bun:sqlite";
import type { StoreStats, Trouble } from "../health.ts";
import type { Journal } from "../journal/journal.ts";
import { openingCredit } from "../operator-entry.ts";
import type {
  AccountTotals,
  CallerId,
  Changes,
  ChargeEntry,
  Entry,
  ExchangeEnding,
  GivenIds,
  JournalItem,
  KeyChanges,
  KeyRecord,
  ResponsePart,
} from "../records.ts";
import { summarizeUsage } from "../reporting/usage-summary.ts";
import type {
  AuditedEntry,
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
import { SqliteAdminRecords } from "./tables/admin-records.ts";
import { CallerIdTable } from "./tables/caller-id-table.ts";
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
  readonly files: SqliteFiles;
  readonly #parts: StoreParts;
  readonly #database: Database;
  readonly #revision: Revision;
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
    this.#keys = new KeyTable(database, this.#revision);
    this.#entries = new EntryTable(database);
    this.#operator = new OperatorEntries(database, this.#keys, this.#entries, this.#revision);
    this.#responses = new ResponseTable(database);
    this.#givenIds = new GivenIdTable(database);
    this.#callerIds = new CallerIdTable(database);
    this.#usage = new UsageTable(database);
    this.reports = new SqliteReports(database, parts.timeoutMs);
    this.admin = new SqliteAdminRecords(database, parts.timeoutMs);
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
      keys: this.#keys.all(),
      accounts: this.#entries.allTotals(),
      openHolds: this.#entries.openHolds(),
      unbalancedKeyId: this.#entries.unbalancedKeyId(),
    }));
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

  readTotals(keyId: string): Promise<AccountTotals | null> {
    return this.#read(() => {
      const found = this.#keys.byId(keyId);
      return found === null ? null : this.#entries.totals(found.accountNo);
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
