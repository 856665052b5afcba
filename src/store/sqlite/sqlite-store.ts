import { countedCharges } from "../counted-charges.ts";
import type { StoreStats } from "../health.ts";
import type { Journal } from "../journal/journal.ts";
import { queriedStore } from "../queried-store.ts";
import { query } from "../query.ts";
import type { CapTotals } from "../records.ts";
import type { JournaledStore } from "../store.ts";
import { storedAdmin } from "../tables/admin-records.ts";
import { storedAlerts } from "../tables/alert-records.ts";
import { storedBackgrounds } from "../tables/background-table.ts";
import { storedBatches } from "../tables/batch-table.ts";
import { allCapTotals, selectCapTotals } from "../tables/cap-table.ts";
import { storedChain } from "../tables/chain-table.ts";
import {
  findFeedEntry,
  findPlaceBefore,
  lagAfter,
  listFeedEntries,
  sumFeedEntries,
} from "../tables/entry-feed.ts";
import { listEntries } from "../tables/entry-list.ts";
import { allAccountTotals, allKeyTotals } from "../tables/entry-table.ts";
import { listRestores, storedPush } from "../tables/feed-push.ts";
import { storedFiles } from "../tables/file-table.ts";
import { storedProviderBatches } from "../tables/provider-batch-table.ts";
import { recomputeTotals } from "../tables/recompute.ts";
import { allValueTotals, valueTotalsOf } from "../tables/value-cap-table.ts";
import { diskFullError, isFull } from "./files/full-disk.ts";
import { folderSizes } from "./files/sizes.ts";
import { type FilesParts, type SqliteFiles, sqliteFiles } from "./files/store-files.ts";
import type { Checkpointer } from "./log/checkpointer.ts";
import type { LogSync } from "./log/log-sync.ts";
import { parkHolds, sqliteStatements, storeCreation } from "./own-statements.ts";
import { failedSyncProblem } from "./problems.ts";
import { type Durability, perform, sqliteQueries, sqliteText } from "./queries.ts";
import type { ReportReader } from "./reports/report-reader.ts";
import { auditSums } from "./tables/audit.ts";
import { entryFinder } from "./tables/exchange-entries.ts";

export interface StoreParts extends FilesParts {
  /** Null for operators: only the gateway charges. */
  readonly journal: Journal | null;
  readonly log: LogSync;
  /** Runs statements that may take long. */
  readonly reports: ReportReader;
  /** Null for operators. */
  readonly checkpoints: Checkpointer | null;
  readonly stats: StoreStats;
  /** Runs last, after everything is closed. */
  readonly onClose: () => void;
}

/** Changes outside the journal keep the log short, too: a client's file may be larger than all charges of a day. */
function durabilityOf({
  log,
  checkpoints,
  dir,
}: Pick<StoreParts, "log" | "checkpoints" | "dir">): Durability {
  return {
    explain: (error) => (isFull(error, dir) ? diskFullError(dir) : error),
    check: () => log.check(),
    sync() {
      checkpoints?.onCommit();
      return log.sync();
    },
    get restarting() {
      return checkpoints?.restarting ?? null;
    },
  };
}

/** Deleting these takes a few milliseconds. */
const maxPrunedParts = 16;

export type SqliteStore = JournaledStore & { readonly files: SqliteFiles };

export function sqliteStore(parts: StoreParts): SqliteStore {
  const { database, dir, timeoutMs, journal, log, checkpoints, reports, watched, stats } = parts;
  const queries = sqliteQueries(database, timeoutMs, durabilityOf(parts));
  const { read, changeTogether } = queries;
  const files = sqliteFiles(parts);
  const unwritten = () => journal?.unwritten ?? [];
  const commit: JournaledStore["commit"] = (items, othersFollow) =>
    journal === null
      ? Promise.reject(new Error("Only the gateway can write to the journal."))
      : journal.commit(items, othersFollow);
  const newestId = async () => {
    const [newest] = await read<{ id: number | null }>("SELECT max(id) AS id FROM entries");
    return newest?.id ?? 0;
  };
  // Entries are numbered one by one and never deleted.
  const sizes = async () => ({ ...folderSizes(dir), entries: await newestId() });
  /** An exporter continues after the last entry, so no entry may be lost and its number reused. */
  const durably = async <Result>(reading: Promise<Result>) => {
    const result = await reading;
    await log.sync();
    return result;
  };
  const listDurable: JournaledStore["listEntries"] = (page) => durably(listEntries(reports.read, page));
  /** With the charges that are not in the database yet. Committed ones are, even before they are acknowledged. */
  const withPending = <Counted extends object>(count: () => Counted) => {
    const charge = database.query<{ id: number }, [string]>(selectRecentCharge);
    const counting = database.transaction(() => ({
      ...count(),
      pending: unwritten()
        .filter(({ exchangeId }) => charge.get(exchangeId) === null)
        .flatMap(countedCharges),
    }));
    return counting.deferred();
  };
  const queried = queriedStore(queries, reports, sqliteStatements, entryFinder(reports.read), sizes);
  return {
    ...queried,
    stats,
    files,
    nodes: null,
    admin: storedAdmin(queries, reports.read, null),
    alerts: storedAlerts(queries, reports),
    feed: {
      entries: (afterId, limit) => durably(listFeedEntries(reports.read, { afterId, limit })),
      entry: (id) => durably(findFeedEntry(reports.read, id)),
      totals: (range) => durably(sumFeedEntries(reports.read, range)),
      placeBefore: async (sinceMs) => durably(findPlaceBefore(reports.read, sinceMs, await newestId())),
      lagAfter: (id) => lagAfter(read, id),
      restores: () => listRestores(read),
      push: storedPush(queries),
    },
    background: storedBackgrounds(queries, {
      begin: (begun, turn, response) => commit([{ kind: "background", begun, turn, response }]),
      // Only this process can own it.
      progress: (owned) => commit([{ kind: "background_progress", owned }]).then(() => true),
      end: (end) => commit([{ kind: "background_end", end }]),
      // There is one process at a time.
      isAbandoned: "1 = 1",
    }),
    uploads: storedFiles(queries, { storeCreation, freeBytes: () => folderSizes(dir).diskFreeBytes }),
    batches: storedBatches(queries, { isAbandoned: () => "1 = 1" }, storeCreation),
    providerBatches: storedProviderBatches(queries, { parkHolds }),

    get healthy() {
      return journal === null || (journal.healthy && log.failure === null && watched?.problem == null);
    },
    get problem() {
      if (log.failure !== null) return failedSyncProblem;
      return watched?.problem ?? journal?.problem ?? null;
    },
    get unwritten() {
      return unwritten();
    },

    countCaps: (capNos) =>
      withPending(() => {
        const totals = database.query<CapTotals, [number]>(`${sqliteText(selectCapTotals)} WHERE no = ?`);
        return { totals: capNos.flatMap((no) => totals.all(no)) };
      }),
    countValueCaps: (capNos) =>
      withPending(() => ({ totals: capNos.flatMap((no) => perform(database, valueTotalsOf(no))) })),
    countAll: () =>
      withPending(() => ({
        accountTotals: perform(database, allAccountTotals()),
        keyTotals: perform(database, allKeyTotals()),
        capTotals: perform(database, allCapTotals()),
        valueTotals: perform(database, allValueTotals()),
      })),

    commit,
    recordResponsePart: (part) => commit([{ kind: "part", part }]),
    recordTurn: (turn) => commit([{ kind: "turn", turn }]),
    discardResponse: (recordingId) => commit([{ kind: "discard", recordingId }]),
    recordIssuedIds: (issued) => commit([{ kind: "issued", issued }]),
    recordCallerIds: (callerIds) => commit([{ kind: "callers", callerIds }]),
    recordOutcomes: (outcomes, attempts = []) => commit([{ kind: "outcomes", outcomes, attempts }]),
    /** The journal keeps the order. */
    written: () => null,

    pruneStoredResponses: (beforeMs, limit) =>
      changeTogether(function* () {
        const pruned = yield* query<{ recordingId: string | null }>(
          `WITH due AS (SELECT id, parts FROM responses WHERE stored_at_ms < $1 ORDER BY stored_at_ms LIMIT $2)
          DELETE FROM responses WHERE id IN (
            SELECT id FROM (SELECT id, sum(parts) OVER (ORDER BY id) - parts AS earlier FROM due) WHERE earlier < $3)
          RETURNING recording_id AS recordingId`,
          [beforeMs, limit, maxPrunedParts],
        );
        const recordings = pruned.flatMap(({ recordingId }) => recordingId ?? []);
        yield* query("DELETE FROM response_parts WHERE recording_id = ANY ($1)", [recordings]);
        return pruned.length;
      }),

    /** A client that gets a replayed response assumes that it was charged, so the charge must be durable. */
    async findStoredResponse(scope, notBeforeMs, reserve) {
      const found = await queried.findStoredResponse(scope, notBeforeMs, reserve);
      if (found !== null) await log.sync();
      return found;
    },

    listEntries: listDurable,
    chain: storedChain(queries, { reading: reports, listEntries: listDurable, isMixed: async () => false }),
    async auditSums() {
      await reports.fold();
      return reports.readTogether(auditSums);
    },
    recomputeTotals: () => reports.readTogether(recomputeTotals),

    /** Totals that include the deleted rows need not be computed again. */
    async pruneRequestLog(pruning) {
      await reports.fold();
      return queried.pruneRequestLog(pruning);
    },

    async close() {
      try {
        await journal?.close();
        await reports.close();
        await checkpoints?.close();
        files.rescue();
      } finally {
        watched?.close();
        await log.close();
        // Closing copies the log into the database unchecked, which after a failed sync only recovery may do.
        if (log.failure === null) database.close();
        parts.onClose();
      }
    },
  };
}

/** Needs no index: the charge is either recent or does not exist. */
const selectRecentCharge = `
SELECT id FROM entries WHERE id > (SELECT max(id) FROM entries) - 10000 AND exchange_id = ? AND kind = 'charge'`;
