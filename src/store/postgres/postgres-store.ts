import type { Clock } from "../../base/clock.ts";
import { type EntryRow, entryOf, selectEntries } from "../entry-row.ts";
import { queriedStore } from "../queried-store.ts";
import type { Entry, IssuedIds } from "../records.ts";
import { compareByPages } from "../reporting/cost-comparison.ts";
import type { ReportQueries } from "../reporting/stored-reports.ts";
import { type Store, StoreError, type StoreSizes } from "../store.ts";
import { storedAdmin } from "../tables/admin-records.ts";
import { storedAlerts } from "../tables/alert-records.ts";
import { storedBackgrounds } from "../tables/background-table.ts";
import { storedBatches } from "../tables/batch-table.ts";
import { storedChain } from "../tables/chain-table.ts";
import {
  findFeedEntry,
  findPlaceBefore,
  lagAfter,
  listFeedEntries,
  sumFeedEntries,
} from "../tables/entry-feed.ts";
import { listEntries } from "../tables/entry-list.ts";
import { listRestores, storedPush } from "../tables/feed-push.ts";
import { storedFiles } from "../tables/file-table.ts";
import { storedProviderBatches } from "../tables/provider-batch-table.ts";
import { recomputeTotals } from "../tables/recompute.ts";
import type { PostgresClient, Query } from "./client.ts";
import { Database } from "./database.ts";
import type { Maintenance } from "./maintenance.ts";
import { areNodesMixed, listNodeStates, listNodes } from "./node/list-nodes.ts";
import { parkHolds, postgresStatements, storeCreation } from "./own-statements.ts";
import { rollUp } from "./rollup.ts";
import { settledThrough } from "./settled-ids.ts";
import { auditSums } from "./tables/audit.ts";
import { backgroundStatements, goneNode } from "./tables/background-table.ts";
import * as responses from "./tables/exchange-tables.ts";
import { insertCallerIds, insertIssuedIds, insertOutcomes } from "./tables/exchange-tables.ts";
import { storedSessions } from "./tables/sessions.ts";
import { WriteQueue } from "./write-queue.ts";

export interface PostgresStoreParts {
  readonly client: PostgresClient;
  readonly clock: Clock;
  /** Null for operators. */
  readonly maintenance: Maintenance | null;
}

const timeoutMs = 2_000;
const settleTimeoutMs = 10_000;
/** A pass over the whole ledger. */
const auditDeadlineMs = 1_800_000;

export function postgresStore({ client, clock, maintenance }: PostgresStoreParts): Store {
  const database = new Database(client, timeoutMs);
  const { read, change, changeSurely, readTogether } = database;
  const unwritten = new Set<Promise<void>>();
  const track = (writing: Promise<void>) => {
    unwritten.add(writing);
    const forget = () => unwritten.delete(writing);
    writing.then(forget, forget);
    return writing;
  };
  const written = () => (unwritten.size === 0 ? null : Promise.allSettled(unwritten).then(() => {}));
  const issuedIds = new WriteQueue(async (items: readonly IssuedIds[]) => {
    await insertIssuedIds(changeSurely, items);
    return items;
  });
  const sizes = async () => {
    const [row] = await read<Pick<StoreSizes, "databaseBytes" | "entries">>(
      `SELECT pg_database_size(current_database())::float8 AS "databaseBytes",
        (SELECT entries_through FROM rollups)::float8 AS entries`,
    );
    return { databaseBytes: 0, entries: 0, ...row, journalBytes: null, diskFreeBytes: null };
  };
  // Totals are added to every few seconds; reports read the rows after them.
  const reading: ReportQueries = {
    read,
    fold: async () => {},
    compareCosts: (query, prices) => compareByPages(read, query, prices),
  };
  const listSettled = settledPages(database, listEntries);
  const listSettledFeed = settledPages(database, listFeedEntries);
  const common = queriedStore(
    database,
    reading,
    postgresStatements,
    (id) => entriesOfExchange(read, id),
    sizes,
  );
  return {
    ...common,
    files: null,
    nodes: { list: () => listNodes(read), states: () => listNodeStates(read) },
    admin: storedAdmin(database, read, storedSessions(database)),
    alerts: {
      ...storedAlerts(database, reading),
      /** Uses the database's clock, which all gateways share. */
      async lead(gateway, forMs) {
        const rows = await change(
          `UPDATE alert_sender SET gateway = $1, until = clock_timestamp() + $2::int * interval '1 millisecond'
          WHERE gateway = $1 OR until < clock_timestamp() RETURNING gateway`,
          [gateway, forMs],
        );
        return rows.length > 0;
      },
    },

    feed: {
      entries: (afterId, limit) => listSettledFeed({ afterId, limit }),
      entry: (id) => findFeedEntry(read, id),
      totals: (range) => database.readAll((query) => sumFeedEntries(query, range), auditDeadlineMs),
      placeBefore: async (sinceMs) => findPlaceBefore(read, sinceMs, await settledId(database)),
      lagAfter: (id) => lagAfter(read, id),
      restores: () => listRestores(read),
      push: storedPush(database),
    },

    background: storedBackgrounds(database, backgroundStatements(database)),
    uploads: storedFiles(database, { storeCreation, freeBytes: () => null }),
    batches: storedBatches(database, { isAbandoned: goneNode }, storeCreation),
    providerBatches: storedProviderBatches(database, { parkHolds }),

    pruneStoredResponses: (beforeMs, limit) => responses.pruneStoredResponses(change, beforeMs, limit),
    recordResponsePart: (part) => responses.insertResponsePart(changeSurely, part, clock.wallMs()),
    recordTurn: (turn) => responses.insertTurn(changeSurely, turn),
    discardResponse: (recordingId) => responses.discardResponse(change, recordingId),
    recordIssuedIds: (issued) => track(issuedIds.add(issued).then(() => {})),
    written,
    recordCallerIds: (callerIds) => insertCallerIds(change, callerIds),
    recordOutcomes: (outcomes, attempts = []) => insertOutcomes(change, outcomes, attempts),
    /** Only rows included in the totals can be deleted, so these are updated first. */
    async pruneRequestLog(pruning) {
      await rollUp(client);
      return common.pruneRequestLog(pruning);
    },

    listEntries: listSettled,
    chain: storedChain(database, {
      reading: database,
      listEntries: listSettled,
      isMixed: () => areNodesMixed(read),
    }),
    auditSums: () => readTogether(auditSums, auditDeadlineMs),
    recomputeTotals: () => readTogether(recomputeTotals, auditDeadlineMs),

    async close() {
      await written();
      await maintenance?.stop();
      await client.close();
    },
  };
}

/**
 * Skips no entries that are still being written: reading stops at the last entry before which nothing can be added.
 * That id is queried only when needed.
 */
function settledPages<Page extends { readonly limit: number }, Row>(
  database: Database,
  list: (query: Query, page: Page, throughId: number) => Promise<readonly Row[]>,
): (page: Page) => Promise<readonly Row[]> {
  let known = 0;
  return async (page) => {
    const entries = await list(database.read, page, known);
    if (entries.length >= page.limit) return entries;
    known = await settledId(database);
    return list(database.read, page, known);
  };
}

/** The newest entry before which none can be added. */
async function settledId({ read }: Database): Promise<number> {
  const settled = await settledThrough(read, "entries", settleTimeoutMs);
  if (settled === null)
    throw new StoreError("locked", "The ledger's newest entries are still being written. Try again.");
  return settled;
}

/** Each half uses its own index. */
async function entriesOfExchange(query: Query, exchangeId: string): Promise<readonly Entry[]> {
  const halves = ["entries.kind = 'charge'", "entries.kind <> 'charge'"].map(
    (kind) => `entries.exchange_id = $1 AND ${kind}`,
  );
  const condition = `WHERE ${halves.join(` UNION ALL ${selectEntries} WHERE `)} ORDER BY id`;
  return (await query<EntryRow>(`${selectEntries} ${condition}`, [exchangeId])).map(entryOf);
}
