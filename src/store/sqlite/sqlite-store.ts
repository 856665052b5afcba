import type { Database } from "bun:sqlite";
import type { StoreStats, Trouble } from "../health.ts";
import type { Journal } from "../journal/journal.ts";
import { QueriedStore } from "../queried-store.ts";
import { type Queries, query } from "../query.ts";
import type {
  AttemptSums,
  CallerId,
  CapTotals,
  ChargeEntry,
  Entry,
  ExchangeEnding,
  GivenIds,
  JournalItem,
  ResponsePart,
  TurnRecord,
} from "../records.ts";
import type {
  AuditedEntry,
  CountedCaps,
  EndingsPruning,
  EntryQuery,
  JournaledStore,
  LedgerFault,
  RecomputedTotals,
  StoreSizes,
} from "../store.ts";
import { StoredAlerts } from "../tables/alert-records.ts";
import { selectCapTotals } from "../tables/cap-table.ts";
import { listAuditedEntries, listEntries } from "../tables/entry-list.ts";
import { sumsThatDiffer } from "../tables/entry-table.ts";
import { patiently } from "./connection.ts";
import { folderSizes } from "./files/sizes.ts";
import { type FilesParts, SqliteFiles } from "./files/store-files.ts";
import { sqliteStatements } from "./own-statements.ts";
import { sqliteQueries, sqliteText } from "./queries.ts";
import { entryFinder } from "./tables/exchange-entries.ts";
import { recomputeTotals } from "./tables/recompute.ts";

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
  readonly alerts: StoredAlerts;
  readonly files: SqliteFiles;
  readonly #parts: StoreParts;
  readonly #database: Database;
  readonly #queries: Queries;

  constructor(parts: StoreParts) {
    const { database, timeoutMs } = parts;
    const queries = sqliteQueries(database, timeoutMs);
    super(queries, sqliteStatements, entryFinder(queries), null);
    this.#parts = parts;
    this.stats = parts.stats;
    this.#queries = queries;
    this.#database = database;
    this.alerts = new StoredAlerts(queries);
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

  /** What the writer's thread has committed and not yet acknowledged is in the database already. */
  countCaps(capNos: readonly number[]): CountedCaps {
    const totals = this.#database.query<CapTotals, [number]>(`${sqliteText(selectCapTotals)} WHERE no = ?`);
    const charge = this.#database.query<{ id: number }, [string]>(selectRecentCharge);
    const count = this.#database.transaction(() => ({
      totals: capNos.flatMap((no) => totals.all(no)),
      pending: this.unwritten.filter(({ exchangeId }) => charge.get(exchangeId) === null),
    }));
    return count.deferred();
  }

  commit(items: readonly JournalItem[], othersFollow = true): Promise<void> {
    const { journal } = this.#parts;
    return journal === null
      ? Promise.reject(new Error("Only the gateway writes to the journal."))
      : journal.commit(items, othersFollow);
  }

  pruneStoredResponses(beforeMs: number, limit: number): Promise<number> {
    return this.#queries.changeTogether(function* () {
      const pruned = yield* query<{ recordingId: string | null }>(
        `DELETE FROM responses WHERE id IN (SELECT id FROM responses WHERE stored_at_ms < $1 ORDER BY stored_at_ms LIMIT $2)
        RETURNING recording_id AS recordingId`,
        [beforeMs, limit],
      );
      const recordings = pruned.flatMap(({ recordingId }) => recordingId ?? []);
      yield* query("DELETE FROM response_parts WHERE recording_id = ANY ($1)", [recordings]);
      return pruned.length;
    });
  }

  recordResponsePart(part: ResponsePart): Promise<void> {
    return this.commit([{ kind: "part", part }]);
  }

  recordTurn(turn: TurnRecord): Promise<void> {
    return this.commit([{ kind: "turn", turn }]);
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

  protected async sizes(): Promise<StoreSizes> {
    // Entries are numbered one by one and never deleted.
    const [newest] = await this.#queries.read<{ id: number | null }>("SELECT max(id) AS id FROM entries");
    return { ...folderSizes(this.#parts.dir), entries: newest?.id ?? 0 };
  }

  listEntries(query: EntryQuery): Promise<readonly Entry[]> {
    return listEntries(this.#queries.read, query);
  }

  listAuditedEntries(query: Pick<EntryQuery, "afterId" | "limit">): Promise<readonly AuditedEntry[]> {
    return listAuditedEntries(this.#queries.read, query);
  }

  auditSums(nowMs: number): Promise<readonly LedgerFault[]> {
    return this.#queries.readTogether(() => sumsThatDiffer("SELECT rolled_up_through FROM state", nowMs));
  }

  recomputeTotals(): Promise<readonly RecomputedTotals[]> {
    const recompute = this.#database.transaction(() => recomputeTotals(this.#database));
    return patiently(this.#parts.timeoutMs, recompute.deferred);
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
}

/** There is no index: it was made a moment ago, or not at all. */
const selectRecentCharge = `
SELECT id FROM entries WHERE id > (SELECT max(id) FROM entries) - 10000 AND exchange_id = ? AND kind = 'charge'`;
